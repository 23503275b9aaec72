#include "attach/diagnostics.h"
#include "summary.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "json.h"
#include "output.h"
#include "view.h"

static void histogram_json(struct oto_json *json, const char *name, const struct oto_histogram *histogram)
{
    oto_json_open(json, name, '{');
    oto_json_format(json, "p50", "%.0f", oto_histogram_quantile_us(histogram, 0.5) * 1e3);
    oto_json_format(json, "p99", "%.0f", oto_histogram_quantile_us(histogram, 0.99) * 1e3);
    oto_json_u64(json, "max", __atomic_load_n(&histogram->max_ns, __ATOMIC_RELAXED));
    oto_json_close(json, '}');
}

/* Writes the facts of one topic. `row`: the row of the recorder, or NULL if the topic is not recorded. */
static void topic_json(struct oto_json *json, const struct oto_channel *channel, const struct recorder_row *row,
                       double sim_s, unsigned char *payload)
{
    struct oto_sample_head head;
    const uint64_t samples = oto_ring_newest(&channel->view);
    oto_json_open(json, channel->topic, '{');
    oto_json_u64(json, "samples", samples);
    oto_json_number(json, "rate_hz", sim_s > 0.0 ? (double)samples / sim_s : 0.0);
    oto_json_u64(json, "lost", row != NULL ? row->lost : 0);
    if (row != NULL) {
        oto_json_u64(json, "stale", row->stale);
    }
    if (oto_channel_latest(channel, &head, payload, OTO_RECORD_MAX_BYTES) == OTO_OK) {
        oto_json_format(json, "last", "%s", "");
        json_sample(json->to, &channel->type, channel->frame_id, &head, payload);
    } else {
        oto_json_number(json, "last", NAN);
    }
    oto_json_close(json, '}');
}

static enum oto_status write_all(FILE *to, enum oto_json_layout layout, struct oto_client *client,
                                 const struct recorder *recorder, int64_t wall_ns, struct oto_error *error)
{
    struct oto_json json = {.to = to, .layout = layout};
    unsigned char *payload = malloc(OTO_RECORD_MAX_BYTES);
    if (payload == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    const struct oto_segment_header *header = oto_client_header(client);
    struct oto_clock clock = {0};
    (void)oto_client_clock(client, &clock);
    const double sim_s = (double)clock.sim_time_ns * 1e-9;
    oto_json_open(&json, NULL, '{');
    oto_json_text(&json, "world", header->world);
    oto_json_u64(&json, "seed", header->seed);
    oto_json_u64(&json, "ticks", clock.tick);
    oto_json_i64(&json, "sim_time_ns", clock.sim_time_ns);
    oto_json_format(&json, "state_hash", "\"%016" PRIx64 "\"", clock.state_hash);
    oto_json_number(&json, "real_time_factor", wall_ns > 0 ? (double)clock.sim_time_ns / (double)wall_ns : 0.0);
    histogram_json(&json, "tick_ns", &header->work);
    histogram_json(&json, "lateness_ns", &header->lateness);
    oto_json_u64(&json, "overruns", __atomic_load_n(&header->counter[OTO_COUNTER_OVERRUNS], __ATOMIC_RELAXED));
    oto_json_open(&json, "topics", '{');
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        if (cli_is_shown(oto_client_channel(client, i))) {
            topic_json(&json, oto_client_channel(client, i), recorder_find(recorder, i), sim_s, payload);
        }
    }
    oto_json_close(&json, '}');
    oto_json_close(&json, '}');
    oto_json_more(&json, "\n", 1);
    free(payload);
    return OTO_OK;
}

enum oto_status summary_write(const char *path, struct oto_client *client, const struct recorder *recorder,
                              int64_t wall_ns, struct oto_error *error)
{
    struct cli_output output;
    enum oto_status status = cli_output_open(&output, path, error);
    if (status == OTO_OK) {
        status = cli_output_close(&output, write_all(output.file, OTO_JSON_INDENTED, client, recorder, wall_ns, error),
                                  error);
    }
    return status;
}

enum oto_status summary_print(struct oto_client *client, const struct recorder *recorder, int64_t wall_ns, struct oto_error *error)
{
    return write_all(stdout, OTO_JSON_LINE, client, recorder, wall_ns, error);
}
