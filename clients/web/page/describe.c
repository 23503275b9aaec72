#include "page/describe.h"

#include <stdio.h>

#define TYPES_MAX 256u /* record types of a world in one description; further channels are left out */

/* ---- the world --------------------------------------------------------------------------------------------------- */

struct type_list {
    const struct oto_channel *first[TYPES_MAX]; /* the first channel of each record type */
    uint32_t count;
};

/* The index of the channel's record type, which is added if it is new; TYPES_MAX if the list is full. */
static uint32_t find_type(struct type_list *types, const struct oto_channel *channel)
{
    uint32_t i = 0;
    while (i < types->count && types->first[i]->type_hash != channel->type_hash) {
        i++;
    }
    if (i == types->count && i < TYPES_MAX) {
        types->first[types->count++] = channel;
    }
    return i;
}

static void add_type(struct web_text *text, const struct oto_record_type *type)
{
    web_text_add(text, "{");
    web_text_member(text, "name", type->name);
    web_text_add(text, "\"bytes\":%u,\"fields\":[", type->bytes);
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        web_text_add(text, "{");
        web_text_member(text, "name", field->name);
        web_text_member(text, "unit", field->unit);
        web_text_member(text, "frame", field->frame);
        web_text_member(text, "text", field->text);
        web_text_add(text, "\"count\":%u},", field->type == OTO_FIELD_TEXT ? 0 : field->count);
    }
    web_text_trim(text);
    web_text_add(text, "]},");
}

static void add_channel(struct web_text *text, const struct oto_channel *channel, uint32_t type)
{
    web_text_add(text, "{");
    web_text_member(text, "topic", channel->topic);
    web_text_member(text, "node", channel->node);
    web_text_member(text, "frame_id", channel->frame_id);
    web_text_add(text, "\"index\":%u,\"type\":%u,\"rate_hz\":", channel->index, type);
    web_text_number(text, channel->rate_den > 0 ? (double)channel->rate_num / (double)channel->rate_den : 0.0);
    web_text_add(text, ",\"seq\":%llu,\"capacity\":%u,\"truth\":%s,\"events\":%s},", (unsigned long long)oto_ring_newest(&channel->view), channel->capacity,
                 (channel->flags & OTO_CHANNEL_TRUTH) != 0 ? "true" : "false",
                 (channel->flags & OTO_CHANNEL_EVENTS) != 0 ? "true" : "false");
}

static void add_recording(struct web_text *text, const struct web_recording *recording)
{
    if (recording->plays) {
        web_text_add(text, "\"recording\":{\"start\":%.9f,\"end\":%.9f},", (double)recording->start_ns * 1e-9, (double)recording->end_ns * 1e-9);
    }
}

void web_describe_world(struct web_text *text, struct web_world *world, bool may_control)
{
    const struct oto_client *client = web_world_client(world);
    const struct oto_segment_header *header = oto_client_header(client);
    struct type_list types = {.count = 0};
    web_text_clear(text);
    web_text_add(text, "{\"op\":\"world\",");
    web_text_member(text, "world", header->world);
    web_text_member(text, "version", OTO_VERSION_STRING);
    add_recording(text, web_world_recording(world));
    web_text_add(text, "\"run\":%u,\"epoch\":\"%016llx\",\"lineage\":\"%016llx\",\"seed\":\"%llu\",\"control\":%s,\"rate_hz\":", web_world_run(world),
                 (unsigned long long)header->epoch, (unsigned long long)header->lineage, (unsigned long long)header->seed,
                 may_control ? "true" : "false");
    web_text_number(text, header->rate_den > 0 ? (double)header->rate_num / (double)header->rate_den : 0.0);
    web_text_add(text, ",\"channels\":[");
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        const uint32_t type = find_type(&types, channel);
        if (type < TYPES_MAX) {
            add_channel(text, channel, type);
        }
    }
    web_text_trim(text);
    web_text_add(text, "],\"types\":[");
    for (uint32_t i = 0; i < types.count; i++) {
        add_type(text, &types.first[i]->type);
    }
    web_text_trim(text);
    web_text_add(text, "]}");
}

/* ---- status ------------------------------------------------------------------------------------------------------ */

/* Adds the quantile `part` of the ticks since the last call as a member of the JSON; null without new ticks. */
static void add_quantile(struct web_text *text, const char *key, const uint64_t *fresh, uint64_t total, double part)
{
    uint64_t sum = 0;
    uint32_t bucket = 0;
    web_text_add(text, "\"%s\":", key);
    if (total == 0) {
        web_text_add(text, "null,");
        return;
    }
    for (; bucket + 1 < OTO_HISTOGRAM_BUCKETS; bucket++) {
        sum += fresh[bucket];
        if (sum > 0 && (double)sum >= part * (double)total) {
            break;
        }
    }
    web_text_number(text, oto_histogram_value_ns(bucket) * 1e-3);
    web_text_add(text, ",");
}

static void add_times(struct web_text *text, const char *key, const struct oto_histogram *histogram, uint64_t *seen)
{
    uint64_t fresh[OTO_HISTOGRAM_BUCKETS], total = 0;
    for (uint32_t i = 0; i < OTO_HISTOGRAM_BUCKETS; i++) {
        const uint64_t now = __atomic_load_n(&histogram->count[i], __ATOMIC_RELAXED);
        fresh[i] = now >= seen[i] ? now - seen[i] : now; /* a new run starts at zero */
        seen[i] = now;
        total += fresh[i];
    }
    web_text_add(text, "\"%s\":{\"ticks\":%llu,", key, (unsigned long long)total);
    add_quantile(text, "p50_us", fresh, total, 0.5);
    add_quantile(text, "p99_us", fresh, total, 0.99);
    add_quantile(text, "max_us", fresh, total, 1.0);
    web_text_add(text, "\"run_max_us\":%.3f},", (double)__atomic_load_n(&histogram->max_ns, __ATOMIC_RELAXED) * 1e-3);
}

static void add_counters(struct web_text *text, const struct oto_segment_header *header)
{
    web_text_add(text, "\"counters\":{");
    for (uint32_t i = 0; i < OTO_COUNTER_COUNT; i++) {
        web_text_add(text, "\"%s\":%llu,", oto_counter_text(i),
                     (unsigned long long)__atomic_load_n(&header->counter[i], __ATOMIC_RELAXED));
    }
    web_text_trim(text);
    web_text_add(text, "},");
}

/* Adds [newest seq, plugin] of each channel, because a swap changes the plugin. */
static void add_channels(struct web_text *text, const struct oto_client *client)
{
    web_text_add(text, "\"channels\":[");
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const struct oto_channel *channel = oto_client_channel(client, i);
        struct oto_channel_identity identity;
        const bool known = oto_client_channel_identity(client, channel, &identity) == OTO_OK;
        web_text_add(text, "[%llu,", (unsigned long long)oto_ring_newest(&channel->view));
        web_text_string(text, known ? identity.plugin : channel->plugin);
        web_text_add(text, "],");
    }
    web_text_trim(text);
    web_text_add(text, "]");
}

void web_describe_status(struct web_text *text, const struct oto_client *client, struct web_tick_times *times, bool over)
{
    const struct oto_segment_header *header = oto_client_header(client);
    struct oto_clock clock = {.scale = 1.0};
    (void)oto_client_clock(client, &clock);
    web_text_clear(text);
    web_text_add(text, "{\"op\":\"status\",");
    web_text_member(text, "state", over ? "over" : oto_server_state_name(__atomic_load_n(&header->state, __ATOMIC_RELAXED)));
    web_text_member(text, "mode", oto_mode_name(__atomic_load_n(&header->mode, __ATOMIC_RELAXED)));
    web_text_add(text, "\"tick\":%llu,\"t\":%.9f,\"scale\":", (unsigned long long)clock.tick, (double)clock.sim_time_ns * 1e-9);
    web_text_number(text, clock.scale);
    web_text_add(text, ",\"real_time_factor\":");
    web_text_number(text, clock.real_time_factor);
    web_text_add(text, ",\"state_hash\":\"%016llx\",", (unsigned long long)clock.state_hash);
    add_times(text, "lateness", &header->lateness, times->lateness);
    add_times(text, "work", &header->work, times->work);
    add_counters(text, header);
    add_channels(text, client);
    web_text_add(text, "}");
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

void web_describe_event(struct web_text *text, const struct oto_sample_head *head, const struct oto_event_record *event)
{
    char source[sizeof event->source + 1], sentence[sizeof event->text + 1];
    (void)snprintf(source, sizeof source, "%.*s", (int)sizeof event->source, event->source);
    (void)snprintf(sentence, sizeof sentence, "%.*s", (int)sizeof event->text, event->text);
    web_text_add(text, "{\"seq\":%llu,\"t\":%.9f,\"tick\":%llu,\"severity\":%u,\"value\":%lld,", (unsigned long long)head->seq,
                 (double)head->t_ns * 1e-9, (unsigned long long)event->tick, event->severity, (long long)event->value);
    web_text_member(text, "kind", oto_event_kind_text(event->kind));
    web_text_member(text, "source", source);
    web_text_member(text, "text", sentence);
    web_text_trim(text);
    web_text_add(text, "}");
}
