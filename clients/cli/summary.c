#include "summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"

static void histogram_json(FILE *to, const char *name, const struct oto_histogram *histogram)
{
    (void)fprintf(to, "  \"%s\": {\"p50\": %.0f, \"p99\": %.0f, \"max\": %" PRIu64 "},\n", name,
                  view_quantile_us(histogram, 0.5) * 1e3, view_quantile_us(histogram, 0.99) * 1e3,
                  __atomic_load_n(&histogram->max_ns, __ATOMIC_RELAXED));
}

static void topic_json(FILE *to, const struct oto_channel *channel, uint64_t lost, double sim_s, unsigned char *payload)
{
    struct oto_sample_head head;
    const uint64_t samples = oto_ring_newest(&channel->view);
    (void)fputs("    ", to);
    json_text(to, channel->topic);
    (void)fprintf(to, ": {\"samples\": %" PRIu64 ", \"rate_hz\": ", samples);
    json_double(to, sim_s > 0.0 ? (double)samples / sim_s : 0.0);
    (void)fprintf(to, ", \"lost\": %" PRIu64 ", \"last\": ", lost);
    if (oto_channel_latest(channel, &head, payload, OTO_RECORD_MAX_BYTES) == OTO_OK) {
        json_sample(to, &channel->type, channel->frame_id, &head, payload);
    } else {
        (void)fputs("null", to);
    }
    (void)fputc('}', to);
}

static void write_all(FILE *to, struct oto_client *client, const struct view *view, const struct recorder *recorder,
                      int64_t wall_ns, unsigned char *payload)
{
    const struct oto_segment_header *header = oto_client_header(client);
    struct oto_clock clock = {0};
    (void)oto_client_clock(client, &clock);
    const double sim_s = (double)clock.sim_time_ns * 1e-9;
    (void)fputs("{\n  \"world\": ", to);
    json_text(to, header->world);
    (void)fprintf(to, ",\n  \"seed\": %" PRIu64 ",\n  \"ticks\": %" PRIu64 ",\n  \"sim_time_ns\": %" PRId64 ",\n  \"state_hash\": \"%016" PRIx64 "\",\n  \"real_time_factor\": ",
                  header->seed, clock.tick, clock.sim_time_ns, clock.state_hash);
    json_double(to, wall_ns > 0 ? (double)clock.sim_time_ns / (double)wall_ns : 0.0);
    (void)fputs(",\n", to);
    histogram_json(to, "tick_ns", &header->work);
    histogram_json(to, "lateness_ns", &header->lateness);
    (void)fprintf(to, "  \"overruns\": %" PRIu64 ",\n  \"topics\": {\n", __atomic_load_n(&header->counter[OTO_COUNTER_OVERRUNS], __ATOMIC_RELAXED));
    const char *comma = "";
    for (uint32_t i = 0; i < oto_client_channel_count(client); i++) {
        const uint64_t recorded = recorder_lost(recorder, i);
        if (cli_is_shown(oto_client_channel(client, i))) {
            (void)fputs(comma, to);
            topic_json(to, oto_client_channel(client, i), recorded > 0 ? recorded : view_lost(view, i), sim_s, payload);
            comma = ",\n";
        }
    }
    (void)fputs("\n  }\n}\n", to);
}

enum oto_status summary_write(const char *path, struct oto_client *client, const struct view *view,
                              const struct recorder *recorder, int64_t wall_ns, struct oto_error *error)
{
    char beside[4096];
    unsigned char *payload = malloc(OTO_RECORD_MAX_BYTES);
    (void)snprintf(beside, sizeof beside, "%s.part", path);
    FILE *to = payload != NULL ? fopen(beside, "we") : NULL;
    if (to == NULL) {
        free(payload);
        return oto_fail(error, OTO_IO, "%s: cannot be written: %s", beside, strerror(errno));
    }
    write_all(to, client, view, recorder, wall_ns, payload);
    free(payload);
    const bool bad = ferror(to) != 0;
    if (fclose(to) != 0 || bad || rename(beside, path) != 0) {
        (void)remove(beside);
        return oto_fail(error, OTO_IO, "%s: cannot be written: %s", path, strerror(errno));
    }
    return OTO_OK;
}
