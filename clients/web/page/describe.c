#include "page/describe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#define PART_BYTES (128u << 10) /* a part of the list of channels ends beyond it */

/* ---- the world --------------------------------------------------------------------------------------------------- */

/* The index of the channel's record type; types->count if it is not in the list. */
static uint32_t find_type(const struct web_types *types, const struct oto_channel *channel)
{
    uint32_t i = 0;
    while (i < types->count && types->first[i]->type_hash != channel->type_hash) {
        i++;
    }
    return i;
}

void web_describe_types(struct web_types *types, const struct oto_client *client)
{
    types->count = 0;
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        if (find_type(types, channel) == types->count && types->count < WEB_TYPES_MAX) {
            types->first[types->count++] = channel;
        }
    }
}

static void add_type(struct oto_json *json, const struct oto_record_type *type)
{
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "name", type->name);
    oto_json_u64(json, "bytes", type->bytes);
    oto_json_open(json, "fields", '[');
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        oto_json_open(json, NULL, '{');
        oto_json_text(json, "name", field->name);
        oto_json_text(json, "unit", field->unit);
        oto_json_text(json, "frame", field->frame);
        oto_json_text(json, "text", field->text);
        oto_json_u64(json, "count", field->type == OTO_FIELD_TEXT ? 0 : field->count);
        oto_json_close(json, '}');
    }
    oto_json_close(json, ']');
    oto_json_close(json, '}');
}

static void add_rate(struct oto_json *json, uint64_t num, uint64_t den)
{
    oto_json_number(json, "rate_hz", den > 0 ? (double)num / (double)den : 0.0);
}

static void add_channel(struct oto_json *json, const struct oto_channel *channel, uint32_t index, uint32_t type)
{
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "topic", channel->topic);
    oto_json_text(json, "node", channel->node);
    oto_json_u64(json, "index", index);
    oto_json_u64(json, "type", type);
    add_rate(json, channel->rate_num, channel->rate_den);
    oto_json_u64(json, "seq", oto_ring_newest(&channel->view));
    oto_json_u64(json, "capacity", channel->capacity);
    oto_json_flag(json, "truth", (channel->flags & OTO_CHANNEL_TRUTH) != 0);
    oto_json_flag(json, "events", (channel->flags & OTO_CHANNEL_EVENTS) != 0);
    oto_json_close(json, '}');
}

/* Adds the channels from *next on, until the message has the size of a part. */
static void add_part(struct oto_json *json, const struct oto_client *client, const struct web_types *types, uint32_t *next)
{
    const uint32_t count = oto_client_channel_count(client);
    oto_json_open(json, "channels", '[');
    for (; *next < count && json->bytes < PART_BYTES && !json->failed; (*next)++) {
        const struct oto_channel *channel = oto_client_channel(client, *next);
        const uint32_t type = find_type(types, channel);
        if (type < types->count) {
            add_channel(json, channel, *next, type);
        }
    }
    oto_json_close(json, ']');
    oto_json_flag(json, "more", *next < count);
}

static void add_recording(struct oto_json *json, const struct web_recording *recording)
{
    if (recording->plays) {
        oto_json_format(json, "recording", "{\"start\":%.9f,\"end\":%.9f}", (double)recording->start_ns * 1e-9, (double)recording->end_ns * 1e-9);
    }
}

void web_describe_world(struct oto_json *json, struct web_world *world, const struct web_types *types, bool may_control,
                        uint32_t *next)
{
    const struct oto_client *client = web_world_client(world);
    const struct oto_segment_header *header = oto_client_header(client);
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "world");
    oto_json_text(json, "world", header->world);
    oto_json_text(json, "version", OTO_VERSION_STRING);
    add_recording(json, web_world_recording(world));
    oto_json_u64(json, "run", web_world_run(world));
    oto_json_format(json, "epoch", "\"%016" PRIx64 "\"", header->epoch);
    oto_json_format(json, "lineage", "\"%016" PRIx64 "\"", header->lineage);
    oto_json_format(json, "seed", "\"%" PRIu64 "\"", header->seed);
    oto_json_flag(json, "control", may_control);
    add_rate(json, header->rate_num, header->rate_den);
    oto_json_open(json, "types", '[');
    for (uint32_t i = 0; i < types->count; i++) {
        add_type(json, &types->first[i]->type);
    }
    oto_json_close(json, ']');
    *next = 0;
    add_part(json, client, types, next);
    oto_json_close(json, '}');
}

void web_describe_channels(struct oto_json *json, const struct oto_client *client, const struct web_types *types, uint32_t *next)
{
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "channels");
    add_part(json, client, types, next);
    oto_json_close(json, '}');
}

/* ---- status ------------------------------------------------------------------------------------------------------ */

/* Adds the quantile `part` of the ticks since the last call ; null without new ticks. */
static void add_quantile(struct oto_json *json, const char *key, const uint64_t *fresh, uint64_t total, double part)
{
    uint64_t sum = 0;
    uint32_t bucket = 0;
    if (total == 0) {
        oto_json_number(json, key, NAN);
        return;
    }
    for (; bucket + 1 < OTO_HISTOGRAM_BUCKETS; bucket++) {
        sum += fresh[bucket];
        if (sum > 0 && (double)sum >= part * (double)total) {
            break;
        }
    }
    oto_json_number(json, key, oto_histogram_value_ns(bucket) * 1e-3);
}

static void add_times(struct oto_json *json, const char *key, const struct oto_histogram *histogram, uint64_t *seen)
{
    uint64_t fresh[OTO_HISTOGRAM_BUCKETS], total = 0;
    for (uint32_t i = 0; i < OTO_HISTOGRAM_BUCKETS; i++) {
        const uint64_t now = __atomic_load_n(&histogram->count[i], __ATOMIC_RELAXED);
        fresh[i] = now >= seen[i] ? now - seen[i] : now; /* a new run starts at zero */
        seen[i] = now;
        total += fresh[i];
    }
    oto_json_open(json, key, '{');
    oto_json_u64(json, "ticks", total);
    add_quantile(json, "p50_us", fresh, total, 0.5);
    add_quantile(json, "p99_us", fresh, total, 0.99);
    add_quantile(json, "max_us", fresh, total, 1.0);
    oto_json_number(json, "run_max_us", (double)__atomic_load_n(&histogram->max_ns, __ATOMIC_RELAXED) * 1e-3);
    oto_json_close(json, '}');
}

static void add_counters(struct oto_json *json, const struct oto_segment_header *header)
{
    oto_json_open(json, "counters", '{');
    for (uint32_t i = 0; i < OTO_COUNTER_COUNT; i++) {
        oto_json_u64(json, oto_counter_text(i), __atomic_load_n(&header->counter[i], __ATOMIC_RELAXED));
    }
    oto_json_close(json, '}');
}

void web_describe_status(struct oto_json *json, const struct oto_client *client, struct web_tick_times *times, bool over)
{
    const struct oto_segment_header *header = oto_client_header(client);
    struct oto_clock clock = {.scale = 1.0};
    (void)oto_client_clock(client, &clock);
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "status");
    oto_json_text(json, "state", over ? "over" : oto_server_state_name(__atomic_load_n(&header->state, __ATOMIC_RELAXED)));
    oto_json_text(json, "mode", oto_mode_name(__atomic_load_n(&header->mode, __ATOMIC_RELAXED)));
    oto_json_u64(json, "tick", clock.tick);
    oto_json_format(json, "t", "%.9f", (double)clock.sim_time_ns * 1e-9);
    oto_json_number(json, "scale", clock.scale);
    oto_json_number(json, "real_time_factor", clock.real_time_factor);
    oto_json_format(json, "state_hash", "\"%016" PRIx64 "\"", clock.state_hash);
    add_times(json, "lateness", &header->lateness, times->lateness);
    add_times(json, "work", &header->work, times->work);
    add_counters(json, header);
    oto_json_close(json, '}');
}

void web_describe_records(struct oto_json *json, const struct oto_client *client, const uint32_t *channels, uint32_t count)
{
    struct oto_clock clock = {.scale = 1.0};
    (void)oto_client_clock(client, &clock);
    oto_json_clear(json);
    oto_json_open(json, NULL, '{');
    oto_json_text(json, "op", "records");
    oto_json_format(json, "t", "%.9f", (double)clock.sim_time_ns * 1e-9);
    oto_json_open(json, "channels", '[');
    for (uint32_t i = 0; i < count; i++) {
        const struct oto_channel *channel = oto_client_channel(client, channels[i]);
        struct oto_channel_identity identity;
        const bool known = oto_client_channel_identity(client, channel, &identity) == OTO_OK;
        oto_json_open(json, NULL, '[');
        oto_json_u64(json, NULL, channels[i]);
        oto_json_u64(json, NULL, oto_ring_newest(&channel->view));
        oto_json_text(json, NULL, known ? identity.plugin : channel->plugin);
        oto_json_close(json, ']');
    }
    oto_json_close(json, ']');
    oto_json_close(json, '}');
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

void web_describe_event(struct oto_json *json, const struct oto_sample_head *head, const struct oto_event_record *event)
{
    char source[sizeof event->source + 1], sentence[sizeof event->text + 1];
    (void)snprintf(source, sizeof source, "%.*s", (int)sizeof event->source, event->source);
    (void)snprintf(sentence, sizeof sentence, "%.*s", (int)sizeof event->text, event->text);
    oto_json_open(json, NULL, '{');
    oto_json_u64(json, "seq", head->seq);
    oto_json_format(json, "t", "%.9f", (double)head->t_ns * 1e-9);
    oto_json_u64(json, "tick", event->tick);
    oto_json_u64(json, "severity", event->severity);
    oto_json_i64(json, "value", event->value);
    oto_json_text(json, "kind", oto_event_kind_text(event->kind));
    oto_json_text(json, "source", source);
    oto_json_text(json, "text", sentence);
    oto_json_close(json, '}');
}
