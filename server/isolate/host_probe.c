/* The probe of a swap: the candidate is run twice on a copy of the live state and on the inputs of the last ticks. */
#include "probe_job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host_crash.h"
#include "host.h"
#include "base/fpu.h"
#include "plugin/described.h"
#include "plugin/finite.h"
#include "plugin/isolated.h"
#include "sandbox.h"
#include "host_watch.h"

#define RUNS 2
#define LOOK_BACK_NS INT64_C(1000000000)

struct probe {
    struct srv_probe_job *job;
    const struct srv_probe_input *inputs;
    struct oto_input_sample *samples; /* estimators: the samples of all steps */
    const struct oto_input_sample *next_sample; /* the first sample of the next step */
    struct srv_instance instance;
    struct oto_float_run *truth_runs;
    uint32_t truth_run_count;
    struct host_facts facts;
    struct oto_error *error;
};

static void *at(struct srv_probe_job *job, uint64_t offset)
{
    return (unsigned char *)job + offset;
}

static void mark_operation(struct probe *probe, enum srv_host_operation operation, uint32_t step)
{
    __atomic_store_n(&probe->job->current_step, step, __ATOMIC_RELAXED);
    __atomic_store_n(&probe->job->current_operation, (uint32_t)operation, __ATOMIC_RELEASE);
}

#define complain(probe, ...) oto_fail((probe)->error, OTO_PLUGIN, __VA_ARGS__)

/* ---- made ready -------------------------------------------------------------------------------------------------- */

static enum oto_status load(struct probe *probe, int fd)
{
    mark_operation(probe, SRV_OPERATION_LOAD, 0);
    host_facts_take(&probe->facts); /* the loader keeps one file open, the copy itself */
    struct oto_plugin *plugin = NULL;
    enum oto_status status = oto_plugin_load_copy(fd, probe->job->path, &plugin, probe->error);
    if (status != OTO_OK) {
        return status;
    }
    host_crash_know(0, plugin);
    probe->facts.files++;
    host_watch_calls(true);
    status = oto_plugin_begin(plugin, probe->error);
    host_watch_calls(false);
    srv_instance_bind(&probe->instance, plugin);
    if (status == OTO_OK && probe->instance.descriptor->params_bytes != probe->job->params_bytes) {
        return complain(probe, "it has parameters of another size here than in the server");
    }
    return status;
}

/* Unpacks the inputs of an estimator and their samples, with pointers of this process. */
static enum oto_status bind_inputs(struct probe *probe)
{
    struct srv_probe_job *job = probe->job;
    struct oto_estimator_setup *setup = &job->setup.estimator;
    if (setup->input_count == 0) {
        return OTO_OK;
    }
    probe->samples = at(job, job->samples_offset);
    for (uint32_t i = 0; i < job->sample_count; i++) {
        probe->samples[i].payload = at(job, job->payloads_offset + (uint64_t)i * job->payload_stride);
    }
    setup->inputs = oto_bindings_unpack(at(job, job->bindings_offset), job->bindings_bytes, setup->input_count);
    return setup->inputs != NULL ? OTO_OK : oto_fail(probe->error, OTO_CORRUPT, "its inputs cannot be read");
}

static enum oto_status make_results(struct probe *probe)
{
    probe->truth_runs = calloc(oto_truth_type.field_count, sizeof *probe->truth_runs);
    if (probe->truth_runs == NULL) {
        return oto_fail(probe->error, OTO_NO_MEMORY, "no memory for its truth");
    }
    probe->truth_run_count = oto_float_runs(&oto_truth_type, probe->truth_runs);
    return OTO_OK;
}

/* The probe tries every port, because a port that is off may be enabled later. */
static void enable_all_ports(struct srv_instance *instance)
{
    instance->ports_used = instance->port_count;
    for (uint32_t i = 0; i < instance->port_count; i++) {
        instance->ports[i].enabled = true;
    }
}

static enum oto_status prepare(struct probe *probe)
{
    struct srv_probe_job *job = probe->job;
    const struct srv_instance_place place = {.setup = &job->setup, .prepared_later = true};
    probe->instance.params = (struct oto_params){.block = at(job, job->params_offset), .bytes = job->params_bytes};
    enum oto_status status = srv_instance_make(&probe->instance, &place, probe->error);
    if (status != OTO_OK) {
        return status;
    }
    enable_all_ports(&probe->instance);
    mark_operation(probe, SRV_OPERATION_PREPARE, 0);
    host_watch_calls(true);
    status = srv_instance_prepare(&probe->instance, NULL, NULL, probe->error);
    host_watch_calls(false);
    if (status == OTO_OK && host_watch_exit_handlers() != 0) {
        return complain(probe, "prepare asked to be called when the process ends (atexit)");
    }
    return status;
}

/* ---- its first state --------------------------------------------------------------------------------------------- */

static enum oto_status refuse(struct probe *probe, const char *what, const struct oto_error *reason)
{
    return complain(probe, "%s refused%s%.300s", what, reason->text[0] != '\0' ? ": " : "", reason->text);
}

static enum oto_status copy_state(struct probe *probe)
{
    const struct srv_probe_job *job = probe->job;
    const struct srv_instance *instance = &probe->instance;
    if (job->state_bytes != instance->state_bytes) {
        return complain(probe, "its state has %llu bytes, the live one %llu", (unsigned long long)instance->state_bytes,
                        (unsigned long long)job->state_bytes);
    }
    memcpy(instance->abi.state, at(probe->job, job->state_offset), job->state_bytes);
    return OTO_OK;
}

/* As in the server, `init` comes first, also where its state is then replaced. */
static enum oto_status first_state(struct probe *probe)
{
    struct srv_probe_job *job = probe->job;
    struct oto_error reason = {0};
    struct srv_instance *instance = &probe->instance;
    memset(instance->abi.state, 0, instance->state_bytes);
    mark_operation(probe, SRV_OPERATION_INIT, 0);
    if (srv_instance_init(instance, &reason) != OTO_OK) {
        reason.text[sizeof reason.text - 1] = '\0';
        return refuse(probe, "init", &reason);
    }
    if (job->start == SRV_START_COPY) {
        return copy_state(probe);
    }
    if (job->start == SRV_START_MIGRATE) {
        mark_operation(probe, SRV_OPERATION_MIGRATE, 0);
        if (instance->ops->migrate == NULL || instance->ops->migrate(&instance->abi, at(job, job->state_offset),
                                                                     job->state_bytes, job->state_version) != OTO_OK) {
            return refuse(probe, "migrate", &reason);
        }
    }
    if (job->start == SRV_START_ADOPT) {
        mark_operation(probe, SRV_OPERATION_ADOPT, 0);
        const struct oto_motion_extension *motion = oto_plugin_motion(instance->plugin);
        if (!oto_motion_adopts(motion) || motion->adopt(&instance->abi, &job->truth, job->at) != OTO_OK) {
            return refuse(probe, "adopt", &reason);
        }
    }
    return OTO_OK;
}

static enum oto_status validate(struct probe *probe, uint32_t step)
{
    const struct oto_error reason = {0};
    mark_operation(probe, SRV_OPERATION_VALIDATE, step);
    const struct srv_instance *instance = &probe->instance;
    if (instance->ops->validate != NULL && instance->ops->validate(&instance->abi) != OTO_OK) {
        return refuse(probe, step == 0 ? "validate of the first state" : "validate", &reason);
    }
    return OTO_OK;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/*
 * input_at returns the latest recorded input that is not after the instant. It is an approximation, but equal in both runs,
 * as their comparison requires.
 */
struct past {
    const struct probe *probe;
    uint32_t newest;
};

static enum oto_step_status input_at(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    const struct past *past = context;
    const struct srv_probe_input *now = &past->probe->inputs[past->newest];
    uint32_t index = past->newest;
    if (at.t_ns > now->at.t_ns || at.t_ns < now->at.t_ns - LOOK_BACK_NS) {
        return OTO_STEP_ERROR;
    }
    while (index > 0 && past->probe->inputs[index].at.t_ns > at.t_ns) {
        index--;
    }
    *input = past->probe->inputs[index].input;
    return OTO_STEP_OK;
}

static const char *bad_field(const struct oto_record_type *type, const void *payload)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        struct oto_float_run run[1];
        const struct oto_record_type alone = {type->name, type->bytes, 1, &type->fields[i]};
        if (oto_float_runs(&alone, run) > 0 && !oto_record_is_finite(run, 1, payload)) {
            return type->fields[i].name;
        }
    }
    return "";
}

static enum oto_status check_outputs(struct probe *probe, uint32_t step, uint64_t *hash)
{
    for (uint32_t i = 0; i < probe->instance.ports_used; i++) {
        const struct oto_record_type *type = probe->instance.descriptor->outputs[i].type;
        const struct oto_output *output = &probe->instance.outputs[i];
        const struct srv_port *port = &probe->instance.ports[i];
        if (output->emit == 0) {
            continue;
        }
        if (!oto_record_is_finite(port->runs, port->run_count, output->payload)) {
            return complain(probe, "its sample %u has a NaN or an infinity in '%s'", step,
                            bad_field(type, output->payload));
        }
        const int64_t times[3] = {output->t_ns, output->sensor_time_ns, (int64_t)output->flags};
        *hash = oto_fnv1a64_more(*hash, times, sizeof times);
        *hash = oto_fnv1a64_more(*hash, output->payload, type->bytes);
    }
    return OTO_OK;
}

static enum oto_status check_truth(struct probe *probe, const struct srv_probe_input *input, uint32_t step,
                                   uint64_t *hash)
{
    struct oto_truth_record truth;
    memset(&truth, 0, sizeof truth);
    const enum oto_step_status status =
        probe->instance.evaluate(&probe->instance.abi, input->at, &truth);
    if (status != OTO_STEP_OK && status != OTO_STEP_WARN) {
        return complain(probe, "it could not evaluate the motion at tick %u", step);
    }
    if (!oto_record_is_finite(probe->truth_runs, probe->truth_run_count, &truth)) {
        return complain(probe, "its truth of tick %u has a NaN or an infinity in '%s'", step,
                        bad_field(&oto_truth_type, &truth));
    }
    *hash = oto_fnv1a64_more(*hash, &truth, sizeof truth);
    return OTO_OK;
}

static bool is_estimator(const struct probe *probe)
{
    return oto_plugin_estimator(probe->instance.plugin) != NULL;
}

static enum oto_status check_conduct(struct probe *probe, uint32_t step, enum oto_step_status status,
                                     uint64_t allocations)
{
    if (!srv_fpu_is_pinned()) {
        return complain(probe, "its step %u changed the floating-point mode of the thread", step);
    }
    if (host_watch_allocations() != allocations) {
        return complain(probe, "its step %u allocated memory, which the tick must not", step);
    }
    if (host_watch_exit_handlers() != 0) {
        return complain(probe, "its step %u asked to be called when the process ends (atexit)", step);
    }
    /*
     * An estimator may report an error: its last second of samples is repeated, and it may refuse such a jump back of the
     * vehicle.
     */
    if ((status == OTO_STEP_ERROR && !is_estimator(probe)) || status == OTO_STEP_FATAL || (uint32_t)status > OTO_STEP_FATAL) {
        return complain(probe, "its step %u reported %s", step,
                        status == OTO_STEP_ERROR ? "an error" : status == OTO_STEP_FATAL ? "a fatal error"
                                                                                         : "an unknown status");
    }
    return OTO_OK;
}

static enum oto_status step(struct probe *probe, uint32_t index, uint64_t *hash)
{
    const struct srv_probe_input *input = &probe->inputs[index];
    const bool moves = probe->instance.evaluate != NULL, estimates = is_estimator(probe);
    struct past past = {probe, index};
    const struct oto_estimator_step heard = {.samples = probe->next_sample, .sample_count = input->sample_count};
    const struct oto_sensor_step felt = {&input->input, input_at, &past};
    probe->next_sample += estimates ? input->sample_count : 0;
    mark_operation(probe, SRV_OPERATION_STEP, index + 1);
    const uint64_t allocations = host_watch_allocations();
    host_watch_calls(true);
    const enum oto_step_status said =
        srv_instance_step(&probe->instance, input->tick, input->n, input->at, estimates || moves ? NULL : &felt,
                          estimates ? &heard : NULL);
    host_watch_calls(false);
    enum oto_status status = check_conduct(probe, index + 1, said, allocations);
    srv_fpu_pin();
    if (status == OTO_OK && moves) {
        status = check_truth(probe, input, index + 1, hash);
    } else if (status == OTO_OK && (said == OTO_STEP_OK || said == OTO_STEP_WARN)) {
        status = check_outputs(probe, index + 1, hash);
    }
    *hash = oto_fnv1a64_more(*hash, probe->instance.abi.state, probe->instance.state_bytes);
    return status;
}

static enum oto_status run(struct probe *probe, uint64_t *hash)
{
    *hash = OTO_FNV1A64_START;
    probe->next_sample = probe->samples;
    enum oto_status status = first_state(probe);
    srv_fpu_pin();
    if (status == OTO_OK) {
        status = validate(probe, 0);
    }
    for (uint32_t i = 0; status == OTO_OK && i < probe->job->input_count; i++) {
        status = step(probe, i, hash);
    }
    if (status == OTO_OK && probe->job->input_count > 0 && !is_estimator(probe)) {
        status = validate(probe, probe->job->input_count);
    }
    return status;
}

static enum oto_status run_twice(struct probe *probe)
{
    uint64_t hashes[RUNS];
    for (int i = 0; i < RUNS; i++) {
        const enum oto_status status = run(probe, &hashes[i]);
        if (status != OTO_OK) {
            return status;
        }
    }
    probe->job->steps = RUNS * probe->job->input_count;
    return hashes[0] == hashes[1] ? OTO_OK
                                  : complain(probe, "two runs from the same state with the same inputs differ: it uses "
                                             "something else than its state, parameters and inputs");
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static enum oto_status compare_facts(struct probe *probe, const char *when)
{
    struct host_facts after;
    host_facts_take(&after);
    const char *complaint = host_facts_complaint(&probe->facts, &after);
    return complaint == NULL ? OTO_OK : complain(probe, "it %s in %s", complaint, when);
}

static enum oto_status make_ready(struct probe *probe, int fd)
{
    enum oto_status status = load(probe, fd);
    if (status == OTO_OK) {
        status = bind_inputs(probe);
    }
    if (status == OTO_OK) {
        status = prepare(probe);
    }
    if (status == OTO_OK) {
        status = make_results(probe);
    }
    if (status == OTO_OK) {
        status = first_state(probe);
    }
    return status;
}

/*
 * The first state is made once without the system-call filter. The steps then run with the filter and can neither start nor
 * open anything.
 */
static enum oto_status try_out(struct probe *probe, int fd)
{
    enum oto_status status = make_ready(probe, fd);
    if (status == OTO_OK) {
        status = compare_facts(probe, "prepare or init");
    }
    host_end_children();
    if (status == OTO_OK) {
        status = host_sandbox_close(probe->error);
    }
    if (status == OTO_OK) {
        status = run_twice(probe);
    }
    return status == OTO_OK && !host_sandbox_is_closable() ? compare_facts(probe, "a step") : status;
}

int host_probe(struct host_job *job)
{
    struct oto_error error = {0};
    struct probe probe = {.job = job->memory, .error = &error};
    probe.inputs = at(probe.job, probe.job->inputs_offset);
    srv_fpu_pin();
    enum oto_status status = host_crash_watch(&probe.job->crash, &error);
    if (status == OTO_OK && !host_watch_processes()) {
        status = oto_fail(&error, OTO_IO, "the processes that a plugin starts cannot be watched");
    }
    if (status == OTO_OK && job->start.plugin_count != 1) {
        status = oto_fail(&error, OTO_INVALID, "a probe is of one plugin");
    }
    if (status == OTO_OK) {
        status = try_out(&probe, job->plugin_fds[0]);
    }
    mark_operation(&probe, SRV_OPERATION_IDLE, 0);
    const bool said = host_report(status == OTO_OK ? SRV_HOST_READY : SRV_HOST_FAILED, 0, status, error.text);
    _exit(said ? EXIT_SUCCESS : EXIT_FAILURE);
}
