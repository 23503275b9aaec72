#include "attach/diagnostics.h"
#include "summary.h"

#include <inttypes.h>
#include <stdlib.h>

#include "json.h"
#include "output.h"
#include "view.h"

static void histogram_json(FILE *to, const char *name, const struct oto_histogram *histogram)
{
    (void)fprintf(to, "  \"%s\": {\"p50\": %.0f, \"p99\": %.0f, \"max\": %" PRIu64 "},\n", name,
                  oto_histogram_quantile_us(histogram, 0.5) * 1e3, oto_histogram_quantile_us(histogram, 0.99) * 1e3,
                  __atomic_load_n(&histogram->max_ns, __ATOMIC_RELAXED));
}

/* Writes the facts of one topic. `row`: the row of the recorder, or NULL if the topic is not recorded. */
static void topic_json(FILE *to, const struct oto_channel *channel, const struct recorder_row *row, double sim_s,
                       unsigned char *payload)
{
    struct oto_sample_head head;
    const uint64_t samples = oto_ring_newest(&channel->view);
    (void)fputs("    ", to);
    oto_json_put_text(to, channel->topic);
    (void)fprintf(to, ": {\"samples\": %" PRIu64 ", \"rate_hz\": ", samples);
    oto_json_put_number(to, sim_s > 0.0 ? (double)samples / sim_s : 0.0);
    (void)fprintf(to, ", \"lost\": %" PRIu64, row != NULL ? row->lost : 0);
    if (row != NULL) {
        (void)fprintf(to, ", \"stale\": %" PRIu64, row->stale);
    }
    (void)fputs(", \"last\": ", to);
    if (oto_channel_latest(channel, &head, payload, OTO_RECORD_MAX_BYTES) == OTO_OK) {
        json_sample(to, &channel->type, channel->frame_id, &head, payload);
    } else {
        (void)fputs("null", to);
    }
    (void)fputc('}', to);
}

static enum oto_status write_all(FILE *to, struct oto_client *client, const struct recorder *recorder, int64_t wall_ns,
                                 struct oto_error *error)
{
    unsigned char *payload = malloc(OTO_RECORD_MAX_BYTES);
    if (payload == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory");
    }
    const struct oto_segment_header *header = oto_client_header(client);
    struct oto_clock clock = {0};
    (void)oto_client_clock(client, &clock);
    const double sim_s = (double)clock.sim_time_ns * 1e-9;
    (void)fputs("{\n  \"world\": ", to);
    oto_json_put_text(to, header->world);
    (void)fprintf(to, ",\n  \"seed\": %" PRIu64 ",\n  \"ticks\": %" PRIu64 ",\n  \"sim_time_ns\": %" PRId64 ",\n  \"state_hash\": \"%016" PRIx64 "\",\n  \"real_time_factor\": ",
                  header->seed, clock.tick, clock.sim_time_ns, clock.state_hash);
    oto_json_put_number(to, wall_ns > 0 ? (double)clock.sim_time_ns / (double)wall_ns : 0.0);
    (void)fputs(",\n", to);
    histogram_json(to, "tick_ns", &header->work);
    histogram_json(to, "lateness_ns", &header->lateness);
    (void)fprintf(to, "  \"overruns\": %" PRIu64 ",\n  \"topics\": {\n", __atomic_load_n(&header->counter[OTO_COUNTER_OVERRUNS], __ATOMIC_RELAXED));
    const char *comma = "";
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        if (cli_is_shown(oto_client_channel(client, i))) {
            (void)fputs(comma, to);
            topic_json(to, oto_client_channel(client, i), recorder_find(recorder, i), sim_s, payload);
            comma = ",\n";
        }
    }
    (void)fputs("\n  }\n}\n", to);
    free(payload);
    return OTO_OK;
}

enum oto_status summary_write(const char *path, struct oto_client *client, const struct recorder *recorder,
                              int64_t wall_ns, struct oto_error *error)
{
    struct cli_output output;
    enum oto_status status = cli_output_open(&output, path, error);
    if (status == OTO_OK) {
        status = cli_output_close(&output, write_all(output.file, client, recorder, wall_ns, error), error);
    }
    return status;
}

enum oto_status summary_print(struct oto_client *client, const struct recorder *recorder, int64_t wall_ns, struct oto_error *error)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *to = open_memstream(&text, &bytes);
    const enum oto_status status = to != NULL ? write_all(to, client, recorder, wall_ns, error) : OTO_NO_MEMORY;
    const bool whole = to != NULL && fclose(to) == 0 && status == OTO_OK;
    if (whole) {
        json_line(stdout, text);
    }
    free(text);
    return whole ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "out of memory");
}
