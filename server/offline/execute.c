/* Runs an estimator over its logs with the steps and samples that it would get in a world. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "document/internal.h"
#include "offline/private.h"

#define NS_PER_S 1000000000
#define DEFAULT_MAX_GAP_NS (INT64_C(3600) * NS_PER_S)
enum { PROGRESS_STEPS = 4096 };

__extension__ typedef unsigned __int128 wide;

/* The position of a run in its logs. */
struct passage {
    struct oto_estimate *estimate;
    struct oto_estimate_run *run;
    uint64_t cursors[OTO_ESTIMATOR_MAX_INPUTS];
    uint64_t total;
    struct oto_input_sample *samples;
    uint32_t count, capacity;
    int64_t origin_ns; /* with a rate: the instant of n = 0, a whole second */
    uint64_t tick, n; /* tick and number of the present step */
    struct oto_instant at;
};

/* ---- the instance ---- */

static void bind_logs(struct oto_estimate *estimate)
{
    struct oto_setup *setup = &estimate->setup;
    setup->size = sizeof *setup;
    setup->estimator.inputs = estimate->bindings;
    setup->estimator.input_count = 0;
    for (uint32_t i = 0; i < estimate->input_count; i++) {
        const struct estimate_input *input = &estimate->inputs[i];
        if (input->log == NULL) {
            continue;
        }
        const uint32_t bound = setup->estimator.input_count++;
        estimate->logs[bound] = input->log;
        estimate->bindings[bound] =
            (struct oto_input_binding){.name = input->name, .type = oto_log_type(input->log),
                                       .topic = oto_log_source(input->log), .frame_id = input->name,
                                       .rate_hz = oto_log_rate_hz(input->log),
                                       .mount_position_body_m = input->mount_position_body_m,
                                       .q_body_from_sensor = input->q_body_from_sensor};
    }
}

static enum oto_status check_inputs(const struct oto_estimate *estimate, struct oto_error *error)
{
    for (uint32_t i = 0; i < estimate->extension->input_count; i++) {
        const struct oto_input_port *port = &estimate->extension->inputs[i];
        if (estimate->inputs[i].log == NULL && (port->flags & OTO_INPUT_OPTIONAL) == 0) {
            return oto_fail(error, OTO_INVALID, "estimator '%s' needs a log for its input '%s' (%s)",
                            oto_plugin_descriptor(estimate->plugin)->id, port->name, port->text);
        }
    }
    return estimate->setup.estimator.input_count > 0
               ? OTO_OK
               : oto_fail(error, OTO_INVALID, "estimator '%s' has no log for any of its inputs",
                          oto_plugin_descriptor(estimate->plugin)->id);
}

/* The exact fraction of a decimal rate, as a world file with this rate has it. */
static void rational(double rate_hz, uint64_t *num, uint64_t *den)
{
    char text[40];
    (void)snprintf(text, sizeof text, "%.12g", rate_hz);
    if (doc_number_rational(text, num, den) != DOC_NUMBER_OK || *num == 0) {
        *num = (uint64_t)fmax(1.0, llround(rate_hz) > 0 ? (double)llround(rate_hz) : 1.0);
        *den = 1;
    }
}

/*
 * Chooses the run's rate, else that of the parameters. If there is none, the setup has the rate of the fastest input.
 */
static bool choose_rate(struct oto_estimate *estimate, const struct oto_estimate_run *run)
{
    struct oto_setup *setup = &estimate->setup;
    double fastest_hz = 1.0;
    for (uint32_t i = 0; i < setup->estimator.input_count; i++) {
        fastest_hz = fmax(fastest_hz, round(estimate->bindings[i].rate_hz));
    }
    const bool given = run->rate_num > 0 && run->rate_den > 0;
    const bool own = !given && estimate->params.rate_hz > 0.0;
    if (given) {
        setup->rate_num = run->rate_num;
        setup->rate_den = run->rate_den;
    } else {
        rational(own ? estimate->params.rate_hz : fastest_hz, &setup->rate_num, &setup->rate_den);
    }
    setup->rate_hz = (double)setup->rate_num / (double)setup->rate_den;
    const bool clocked = run->clock_num > 0 && run->clock_den > 0;
    setup->base_rate_num = clocked ? run->clock_num : setup->rate_num;
    setup->base_rate_den = clocked ? run->clock_den : setup->rate_den;
    return given || own;
}

static enum oto_status make_instance(struct oto_estimate *estimate, const struct oto_estimate_run *run,
                                     struct oto_error *error)
{
    const struct srv_instance_place place = {.setup = &estimate->setup, .warn = run->warn, .warn_context = run->warn_context};
    (void)srv_instance_finish(&estimate->instance);
    memset(estimate->seq, 0, sizeof estimate->seq);
    srv_instance_bind(&estimate->instance, oto_plugin_hold(estimate->plugin));
    estimate->instance.params = oto_params_copy(&estimate->params);
    const enum oto_status status = srv_instance_make(&estimate->instance, &place, error);
    if (status != OTO_OK) {
        (void)srv_instance_finish(&estimate->instance);
    }
    return status;
}

static enum oto_status begin(struct oto_estimate *estimate, struct oto_estimate_run *run, bool *at_rate,
                             struct oto_error *error)
{
    bind_logs(estimate);
    enum oto_status status = check_inputs(estimate, error);
    if (status != OTO_OK) {
        return status;
    }
    *at_rate = choose_rate(estimate, run);
    return make_instance(estimate, run, error);
}

/* ---- samples ---- */

/* Finds the input with the earliest next sample, the first of equals; false at the end of all logs. */
static bool earliest(const struct passage *at, uint32_t *input, int64_t *t_ns)
{
    bool found = false;
    for (uint32_t i = 0; i < at->estimate->setup.estimator.input_count; i++) {
        if (at->cursors[i] < oto_log_count(at->estimate->logs[i])) {
            const int64_t t = oto_log_sample(at->estimate->logs[i], at->cursors[i]).t_ns;
            if (!found || t < *t_ns) {
                *input = i;
                *t_ns = t;
                found = true;
            }
        }
    }
    return found;
}

/* Takes every sample up to and including an instant, sorted by time, input and order in the log. */
static enum oto_status gather(struct passage *at, int64_t until_ns, struct oto_error *error)
{
    uint32_t input = 0;
    int64_t t_ns = 0;
    at->count = 0;
    while (earliest(at, &input, &t_ns) && t_ns <= until_ns) {
        if (at->count == at->capacity) {
            const uint32_t capacity = at->capacity == 0 ? 64 : 2 * at->capacity;
            struct oto_input_sample *samples =
                capacity <= UINT32_MAX / 2 ? realloc(at->samples, capacity * sizeof *samples) : NULL;
            if (samples == NULL) {
                return oto_fail(error, OTO_NO_MEMORY, "no memory for the samples of one step");
            }
            at->samples = samples;
            at->capacity = capacity;
        }
        at->samples[at->count] = oto_log_sample(at->estimate->logs[input], at->cursors[input]++);
        at->samples[at->count++].input = input;
    }
    at->run->samples += at->count;
    return OTO_OK;
}

/* ---- steps ---- */

static enum oto_status publish(struct passage *at, enum oto_step_status result, struct oto_error *error)
{
    struct oto_estimate *estimate = at->estimate;
    const struct srv_instance *instance = &estimate->instance;
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < instance->port_count; i++) {
        const struct oto_output *output = &instance->outputs[i];
        const struct srv_port *port = &instance->ports[i];
        if (output->emit == 0) {
            continue;
        }
        const bool finite = oto_record_is_finite(port->runs, port->run_count, output->payload);
        const uint32_t flags = output->flags | (result == OTO_STEP_WARN ? OTO_SAMPLE_WARN : 0) |
                               (finite ? 0 : OTO_SAMPLE_NON_FINITE);
        const struct oto_sample_head head = {output->t_ns, output->sensor_time_ns, ++estimate->seq[i], flags,
                                             port->payload_bytes};
        at->run->not_finite += !finite;
        at->run->records++;
        if (at->run->emit != NULL) {
            status = at->run->emit(at->run->context, i, &head, output->payload, error);
        }
    }
    return status;
}

static enum oto_status take_step(struct passage *at, struct oto_error *error)
{
    struct oto_estimate *estimate = at->estimate;
    struct oto_estimate_run *run = at->run;
    const struct oto_estimator_step samples = {.samples = at->samples, .sample_count = at->count};
    const enum oto_step_status result =
        srv_instance_step(&estimate->instance, at->tick, at->n, at->at, NULL, &samples);
    run->steps++;
    if (result != OTO_STEP_OK && result != OTO_STEP_WARN && result != OTO_STEP_DISCARD) {
        return oto_fail(error, OTO_PLUGIN, "estimator '%s' failed at %.9f s, in its step %" PRIu64,
                        oto_plugin_descriptor(estimate->plugin)->id, (double)at->at.t_ns * 1e-9, run->steps);
    }
    run->warned += result == OTO_STEP_WARN;
    run->discarded += result == OTO_STEP_DISCARD;
    if (result != OTO_STEP_DISCARD) {
        const enum oto_status status = publish(at, result, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    return run->progress != NULL && run->steps % PROGRESS_STEPS == 0
               ? run->progress(run->context, run->samples, at->total, error)
               : OTO_OK;
}

static enum oto_status step_at_samples(struct passage *at, struct oto_error *error)
{
    uint32_t input = 0;
    int64_t t_ns = 0;
    enum oto_status status = OTO_OK;
    while (status == OTO_OK && earliest(at, &input, &t_ns)) {
        at->at.t_ns = t_ns;
        at->n++;
        at->tick = at->n - 1;
        status = gather(at, t_ns, error);
        if (status == OTO_OK) {
            status = take_step(at, error);
        }
    }
    return status;
}

/* The instant of step n, and the tick that it belongs to. */
static void place_step(struct passage *at, uint64_t n)
{
    const struct oto_setup *setup = &at->estimate->setup;
    const wide instant = (wide)n * setup->rate_den * NS_PER_S;
    const wide ticks = (wide)n * setup->rate_den * setup->base_rate_num;
    const wide per_tick = (wide)setup->rate_num * setup->base_rate_den;
    at->n = n;
    at->at.t_ns = at->origin_ns + (int64_t)(instant / setup->rate_num);
    at->at.sub_ns = (double)(uint64_t)(instant % setup->rate_num) / (double)setup->rate_num;
    at->tick = n > 0 ? (uint64_t)((ticks - 1) / per_tick) : 0;
}

/* The end of the step's tick. */
static int64_t tick_end_ns(const struct passage *at)
{
    const struct oto_setup *setup = &at->estimate->setup;
    const wide end = (wide)(at->tick + 1) * setup->base_rate_den * NS_PER_S / setup->base_rate_num;
    return at->origin_ns + (int64_t)end;
}

/* The last step that is not after an instant. */
static uint64_t step_before(const struct passage *at, int64_t t_ns)
{
    const struct oto_setup *setup = &at->estimate->setup;
    const uint64_t since = t_ns > at->origin_ns ? (uint64_t)(t_ns - at->origin_ns) : 0;
    return (uint64_t)((wide)since * setup->rate_num / setup->rate_den / NS_PER_S);
}

static enum oto_status check_gap(const struct passage *at, int64_t t_ns, uint32_t input, struct oto_error *error)
{
    const int64_t most = at->run->max_gap_ns > 0 ? at->run->max_gap_ns : DEFAULT_MAX_GAP_NS;
    return t_ns - at->at.t_ns <= most
               ? OTO_OK
               : oto_fail(error, OTO_RANGE, "%.200s: time jumps from %.9f s to %.9f s; with its own rate an estimator accepts "
                          "at most %.9g s without samples", oto_log_source(at->estimate->logs[input]),
                          (double)at->at.t_ns * 1e-9, (double)t_ns * 1e-9, (double)most * 1e-9);
}

static enum oto_status step_at_rate(struct passage *at, struct oto_error *error)
{
    uint32_t input = 0;
    int64_t t_ns = 0;
    enum oto_status status = OTO_OK;
    if (!earliest(at, &input, &t_ns)) {
        return OTO_OK;
    }
    const int64_t from_ns = at->run->has_from ? at->run->from_ns : t_ns - 1;
    /* Steps count from time zero, or from a whole second before the first sample if that is earlier. */
    at->origin_ns = from_ns >= 0 ? 0 : (from_ns / NS_PER_S - 1) * NS_PER_S;
    uint64_t n = step_before(at, from_ns);
    place_step(at, n);
    while (status == OTO_OK && earliest(at, &input, &t_ns)) {
        status = check_gap(at, t_ns, input, error);
        if (status == OTO_OK) {
            place_step(at, ++n);
            status = gather(at, tick_end_ns(at), error);
        }
        if (status == OTO_OK) {
            status = take_step(at, error);
        }
    }
    return status;
}

enum oto_status oto_estimate_execute(struct oto_estimate *estimate, struct oto_estimate_run *run,
                                     struct oto_error *error)
{
    struct passage at = {.estimate = estimate, .run = run};
    bool at_rate = false;
    run->steps = run->samples = run->records = run->discarded = run->warned = run->not_finite = 0;
    enum oto_status status = begin(estimate, run, &at_rate, error);
    for (uint32_t i = 0; status == OTO_OK && i < estimate->setup.estimator.input_count; i++) {
        at.total += oto_log_count(estimate->logs[i]);
    }
    if (status == OTO_OK) {
        status = at_rate ? step_at_rate(&at, error) : step_at_samples(&at, error);
    }
    if (status == OTO_OK && run->progress != NULL) {
        status = run->progress(run->context, run->samples, at.total, error);
    }
    free(at.samples);
    return status;
}
