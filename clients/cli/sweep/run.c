/* One run: a world is opened for its values, or set back to tick 0 for its seed, and its records become numbers. */
#include <math.h>
#include <stdlib.h>

#include "sweep/gauge.h"

enum { MOST_TICKS = 1000, RECORDS_AT_ONCE = 64, MOST_READ = 2 * SWEEP_MOST_METRICS + SWEEP_MOST_FUNCTIONS * SWEEP_MOST_CHANNELS };

struct sweep_runner {
    const struct sweep_spec *spec;
    struct sweep_python *python; /* NULL: the spec has no function */
    struct oto_sim *sim;
    struct sweep_case open; /* the case for which the world is open */
    struct sweep_gauge *gauges; /* of each metric */
    struct oto_sim_channel *channels; /* the channels that are read, each once */
    uint32_t channel_count, events;
    double tick_rate_hz;
    uint64_t ticks, ticks_at_once;
    struct oto_sample_head heads[RECORDS_AT_ONCE];
    unsigned char payloads[RECORDS_AT_ONCE * OTO_RECORD_MAX_BYTES] __attribute__((aligned(16)));
};

/* ---- finding what is read ---- */

/* Limits the ticks between two reads, so that the ring of the channel does not overflow. */
static void limit_ticks(struct sweep_runner *runner, const struct oto_sim_channel *channel)
{
    const double rate_hz = sweep_rate_hz(channel);
    if (rate_hz > 0.0) {
        const double ticks = fmax(1.0, (double)channel->capacity * runner->tick_rate_hz / rate_hz / 2.0);
        runner->ticks_at_once = ticks < (double)runner->ticks_at_once ? (uint64_t)ticks : runner->ticks_at_once;
    }
}

/* Sets the number of ticks of a run: the base rate is that of the truths; the run ends at the last tick within the duration. */
static enum oto_status bind_clock(struct sweep_runner *runner, struct oto_error *error)
{
    const struct sweep_spec *spec = runner->spec;
    struct oto_sim_channel channel = {0};
    uint32_t i = 0;
    while (i < oto_sim_channel_count(runner->sim) && (channel.flags & OTO_CHANNEL_TRUTH) == 0) {
        (void)oto_sim_channel_at(runner->sim, i++, &channel, NULL);
    }
    if ((channel.flags & OTO_CHANNEL_TRUTH) == 0) {
        return oto_fail(error, OTO_NOT_FOUND, "the world '%s' has no vehicle", spec->world_path);
    }
    runner->tick_rate_hz = sweep_rate_hz(&channel);
    runner->ticks = (uint64_t)((unsigned __int128)spec->duration_ns * channel.rate_num / ((unsigned __int128)channel.rate_den * 1000000000u));
    runner->ticks_at_once = MOST_TICKS;
    return runner->ticks > 0 ? OTO_OK
                             : oto_value_fail(oto_value_get(oto_document_root(spec->document), "duration_s"), error, OTO_RANGE,
                                              "duration_s is shorter than a tick of the world, %g s", 1.0 / runner->tick_rate_hz);
}

/* Lists the channels that a gauge or a Python function reads, each once, because a channel has one cursor. */
static void list_channels(struct sweep_runner *runner)
{
    runner->channel_count = 0;
    for (uint32_t i = 0; i < oto_sim_channel_count(runner->sim); i++) {
        bool is_read = runner->python != NULL && sweep_python_reads(runner->python, i);
        for (uint32_t g = 0; g < runner->spec->metric_count; g++) {
            is_read = is_read || sweep_gauge_reads(&runner->gauges[g], i);
        }
        if (is_read && runner->channel_count < MOST_READ) {
            struct oto_sim_channel *channel = &runner->channels[runner->channel_count++];
            (void)oto_sim_channel_at(runner->sim, i, channel, NULL);
            limit_ticks(runner, channel);
        }
    }
}

static enum oto_status bind_world(struct sweep_runner *runner, struct oto_error *error)
{
    struct oto_sim_channel events = {0};
    enum oto_status status = bind_clock(runner, error);
    for (uint32_t i = 0; status == OTO_OK && i < runner->spec->metric_count; i++) {
        status = sweep_gauge_bind(&runner->gauges[i], runner->spec, runner->sim, &runner->open, error);
    }
    if (status == OTO_OK && runner->python != NULL) {
        status = sweep_python_bind(runner->python, runner->sim, error);
    }
    if (status == OTO_OK) {
        list_channels(runner);
        status = oto_sim_channel(runner->sim, "@events", &events, error);
        runner->events = events.index;
    }
    return status;
}

/* ---- worlds ---- */

enum oto_status sweep_runner_open(struct sweep_runner *runner, uint64_t run, struct oto_error *error)
{
    sweep_case_finish(&runner->open);
    enum oto_status status = sweep_case_make(runner->spec, run, &runner->open, error);
    const struct oto_sim_options options = {.size = sizeof options,
                                            .path = runner->spec->world_path,
                                            .overrides = (const char *const *)runner->open.overrides,
                                            .override_count = runner->open.count,
                                            .has_seed = true,
                                            .no_state_hash = true,
                                            .seed = runner->open.seed};
    if (status == OTO_OK) {
        status = oto_sim_reopen(&options, &runner->sim, error);
        if (status != OTO_OK) {
            sweep_place_error(runner->spec, run, error);
        }
    }
    return status == OTO_OK ? bind_world(runner, error) : status;
}

/* Prepares the world of a run. The open world is used again for another seed if none of its values depends on the seed. */
static enum oto_status prepare_world(struct sweep_runner *runner, uint64_t run, struct oto_error *error)
{
    const struct sweep_spec *spec = runner->spec;
    const bool is_drawn = spec->draw != NULL && spec->draw->count > 0;
    if (runner->sim == NULL || is_drawn || runner->open.combination != run / spec->seed_count) {
        const enum oto_status status = sweep_runner_open(runner, run, error);
        if (status != OTO_OK) {
            oto_sim_close(runner->sim);
            runner->sim = NULL;
        }
        return status;
    }
    runner->open.run = run;
    runner->open.seed = sweep_run_seed(spec, run);
    return oto_sim_reset(runner->sim, runner->open.seed, error);
}

/* ---- reading ---- */

static enum oto_status read_channel(struct sweep_runner *runner, const struct oto_sim_channel *channel, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    uint64_t lost = 0;
    for (size_t count = RECORDS_AT_ONCE; status == OTO_OK && count == RECORDS_AT_ONCE;) {
        count = oto_sim_read(runner->sim, channel->index, runner->heads, runner->payloads, RECORDS_AT_ONCE, &lost);
        for (uint32_t g = 0; status == OTO_OK && g < runner->spec->metric_count; g++) {
            if (sweep_gauge_reads(&runner->gauges[g], channel->index)) {
                status = sweep_gauge_take(&runner->gauges[g], channel, runner->heads, runner->payloads, count, error);
            }
        }
        if (status == OTO_OK && runner->python != NULL) {
            status = sweep_python_take(runner->python, channel->index, runner->heads, runner->payloads, count, error);
        }
        if (status == OTO_OK && lost > 0) {
            status = oto_fail(error, OTO_LAPPED, "%llu records of '%s' were lost: its ring of %u records is too small",
                              (unsigned long long)lost, channel->topic, channel->capacity);
        }
    }
    return status;
}

/* The run fails with the sentence of an event of severity 2 or more: a node or the world's clock has failed. */
static enum oto_status check_events(struct sweep_runner *runner, struct oto_error *error)
{
    struct oto_sample_head head;
    struct oto_event_record event;
    while (oto_sim_read(runner->sim, runner->events, &head, &event, 1, NULL) == 1) {
        if (event.severity >= 2) {
            return oto_fail(error, OTO_PLUGIN, "at %.6f s: %.64s: %.152s", (double)head.t_ns * 1e-9, event.source, event.text);
        }
    }
    return OTO_OK;
}

static enum oto_status read_slice(struct sweep_runner *runner, struct oto_error *error)
{
    enum oto_status status = check_events(runner, error);
    for (uint32_t i = 0; status == OTO_OK && i < runner->channel_count; i++) {
        status = read_channel(runner, &runner->channels[i], error);
    }
    for (uint32_t g = 0; status == OTO_OK && g < runner->spec->metric_count; g++) {
        status = sweep_gauge_settle(&runner->gauges[g], error);
    }
    return status;
}

static enum oto_status begin(struct sweep_runner *runner, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t g = 0; status == OTO_OK && g < runner->spec->metric_count; g++) {
        status = sweep_gauge_begin(&runner->gauges[g], error);
    }
    if (runner->python != NULL) {
        sweep_python_begin(runner->python);
    }
    return status;
}

static enum oto_status results(struct sweep_runner *runner, double *numbers, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    for (uint32_t g = 0; status == OTO_OK && g < runner->spec->metric_count; g++) {
        status = sweep_gauge_results(&runner->gauges[g], runner->sim, numbers, error);
        numbers += runner->spec->metrics[g].compute_count;
    }
    return status == OTO_OK && runner->python != NULL ? sweep_python_call(runner->python, &runner->open, numbers, error) : status;
}

enum oto_status sweep_runner_run(struct sweep_runner *runner, uint64_t run, double *numbers, struct oto_error *error)
{
    enum oto_status status = prepare_world(runner, run, error);
    if (status == OTO_OK) {
        status = begin(runner, error);
    }
    for (uint64_t done = 0; status == OTO_OK && done < runner->ticks;) {
        const uint64_t left = runner->ticks - done, ticks = left < runner->ticks_at_once ? left : runner->ticks_at_once;
        status = oto_sim_step(runner->sim, ticks, error);
        if (status == OTO_OK) {
            status = read_slice(runner, error);
        }
        if (status == OTO_OK && cli_interrupted()) {
            status = oto_fail(error, OTO_CLOSED, "interrupted");
        }
        done += ticks;
    }
    return status == OTO_OK ? results(runner, numbers, error) : status;
}

/* ---- the runner ---- */

struct sweep_runner *sweep_runner_create(const struct sweep_spec *spec, const char *python, struct oto_error *error)
{
    struct sweep_runner *runner = calloc(1, sizeof *runner);
    if (runner == NULL) {
        (void)oto_fail(error, OTO_NO_MEMORY, "no memory for a worker");
        return NULL;
    }
    runner->spec = spec;
    runner->gauges = calloc(spec->metric_count + 1, sizeof *runner->gauges);
    runner->channels = calloc(MOST_READ, sizeof *runner->channels);
    enum oto_status status = runner->gauges != NULL && runner->channels != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for a worker");
    for (uint32_t g = 0; status == OTO_OK && g < spec->metric_count; g++) {
        sweep_sum_init(&runner->gauges[g].sum, &spec->metrics[g]);
    }
    if (status == OTO_OK && spec->function_count > 0) {
        runner->python = sweep_python_create(spec, python, error);
        status = runner->python != NULL ? OTO_OK : OTO_IO;
    }
    if (status != OTO_OK) {
        sweep_runner_destroy(runner);
        return NULL;
    }
    return runner;
}

void sweep_runner_destroy(struct sweep_runner *runner)
{
    if (runner == NULL) {
        return;
    }
    oto_sim_close(runner->sim);
    sweep_case_finish(&runner->open);
    sweep_python_destroy(runner->python);
    for (uint32_t g = 0; runner->gauges != NULL && g < runner->spec->metric_count; g++) {
        sweep_gauge_finish(&runner->gauges[g]);
    }
    free(runner->gauges);
    free(runner->channels);
    free(runner);
}

uint64_t sweep_runner_bytes(const struct sweep_runner *runner)
{
    const double duration_s = (double)runner->spec->duration_ns * 1e-9;
    double bytes = 0.0;
    for (uint32_t g = 0; g < runner->spec->metric_count; g++) {
        const struct sweep_gauge *gauge = &runner->gauges[g];
        bytes += gauge->sum.keeps_values ? 16.0 * duration_s * sweep_rate_hz(&gauge->source.channel) : 0.0; /* 2 x 8: it doubles */
    }
    const double all = bytes + (runner->python != NULL ? (double)sweep_python_bytes(runner->python) : 0.0);
    return all < 1e18 ? (uint64_t)all : (uint64_t)1e18;
}
