/* Isolated instances: prepared, then stepped at each request of the server. */
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "base/step_time.h"
#include "host_crash.h"
#include "base/futex.h"
#include "host.h"
#include "base/fpu.h"
#include "plugin/described.h"
#include "plugin/isolated.h"
#include "sandbox.h"

#define SPINS 4000 /* polls before sleeping: the server answers a question soon */

struct host {
    struct srv_host_mailbox *mailbox;
    struct oto_plugin *plugins[SRV_HOST_MAX_PLUGINS];
    struct srv_instance *instances;
    bool runs_others; /* an instance runs code of others, which needs more system calls than a step */
};

/* The instance whose step asks questions. */
struct asking {
    struct srv_host_mailbox *mailbox;
    uint32_t index;
    uint32_t asks;
};

static void *at(struct srv_host_mailbox *mailbox, uint64_t offset)
{
    return (unsigned char *)mailbox + offset;
}

void host_mark_operation(struct srv_host_mailbox *mailbox, uint32_t slot, enum srv_host_operation operation)
{
    __atomic_store_n(&mailbox->current_operation, (uint32_t)operation, __ATOMIC_RELAXED);
    __atomic_store_n(&mailbox->current_slot, slot, __ATOMIC_RELEASE);
}

/* ---- preparation ------------------------------------------------------------------------------------------------- */

static void pass_warning(void *context, const char *sentence)
{
    (void)host_report(SRV_HOST_WARNS, *(const uint32_t *)context, OTO_OK, sentence);
}

static enum oto_status load(struct host *host, const struct host_job *job, const struct srv_host_slot *slot,
                            struct oto_error *error)
{
    struct oto_plugin **plugin = &host->plugins[slot->plugin];
    if (*plugin != NULL) {
        return OTO_OK;
    }
    enum oto_status status = oto_plugin_load_copy(job->plugin_fds[slot->plugin], slot->path, plugin, error);
    if (status == OTO_OK) {
        host_crash_know(slot->plugin, *plugin);
        status = oto_plugin_begin(*plugin, error);
    }
    return status;
}

static enum oto_status check_sizes(const struct srv_instance *made, const struct srv_host_slot *slot,
                                   struct oto_error *error)
{
    const struct oto_plugin_descriptor *descriptor = made->descriptor;
    if (descriptor->state_bytes != slot->state_bytes || descriptor->params_bytes != slot->params_bytes ||
        descriptor->output_count != slot->port_count) {
        return oto_fail(error, OTO_CONFLICT, "plugin '%s' has other sizes here than in the server", descriptor->id);
    }
    return OTO_OK;
}

/* Unpacks the inputs of an estimator, with pointers of this process. */
static enum oto_status bind_inputs(struct srv_host_mailbox *mailbox, struct srv_host_slot *slot,
                                   struct oto_error *error)
{
    if (slot->setup.estimator.input_count == 0) {
        return OTO_OK;
    }
    struct oto_estimator_setup *setup = &slot->setup.estimator;
    setup->inputs = oto_bindings_unpack(at(mailbox, slot->bindings_offset), slot->bindings_bytes, setup->input_count);
    return setup->inputs != NULL ? OTO_OK : oto_fail(error, OTO_CORRUPT, "its inputs cannot be read");
}

/* Prepares an instance whose setup, parameters and state are in the memory that the server shares. */
static enum oto_status prepare(struct host *host, uint32_t index, struct srv_host_slot *slot, struct srv_instance *made,
                               struct oto_error *error)
{
    const bool fresh = (slot->flags & SRV_SLOT_FRESH) != 0;
    made->params = (struct oto_params){.block = at(host->mailbox, slot->params_offset), .bytes = slot->params_bytes};
    made->abi.setup = &slot->setup;
    made->abi.params = made->params.block;
    made->abi.state = at(host->mailbox, slot->state_offset);
    host_mark_operation(host->mailbox, 1 + index, SRV_OPERATION_PREPARE);
    enum oto_status status = srv_instance_prepare(made, pass_warning, &index, error);
    host_mark_operation(host->mailbox, 1 + index, SRV_OPERATION_INIT);
    if (status == OTO_OK && fresh) {
        status = srv_instance_init(made, error);
    }
    if (status == OTO_OK && fresh && made->evaluate != NULL) {
        host_evaluate(host->mailbox, index, made);
    }
    if (status == OTO_OK && (made->descriptor->flags & OTO_PLUGIN_HOST_ONLY) != 0) {
        slot->unsaved = made->ops->validate != NULL && made->ops->validate(&made->abi) == OTO_UNSUPPORTED;
        host->runs_others = true;
    }
    srv_fpu_pin();
    return status;
}

static enum oto_status make(struct host *host, const struct host_job *job, uint32_t index, struct oto_error *error)
{
    struct srv_host_slot *slot = srv_host_slot_at(host->mailbox, index);
    struct srv_instance *made = &host->instances[index];
    host_mark_operation(host->mailbox, 1 + index, SRV_OPERATION_LOAD);
    enum oto_status status = load(host, job, slot, error);
    if (status != OTO_OK) {
        return status;
    }
    srv_instance_bind(made, host->plugins[slot->plugin]);
    status = check_sizes(made, slot, error);
    if (status == OTO_OK) {
        status = bind_inputs(host->mailbox, slot, error);
    }
    if (status == OTO_OK) {
        status = prepare(host, index, slot, made, error);
    }
    host_mark_operation(host->mailbox, 0, SRV_OPERATION_IDLE);
    return status;
}

static enum oto_status make_all(struct host *host, const struct host_job *job, uint32_t *failed,
                                struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    host->instances = calloc(host->mailbox->slot_count, sizeof *host->instances);
    if (host->instances == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u instances", host->mailbox->slot_count);
    }
    for (uint32_t i = 0; status == OTO_OK && i < host->mailbox->slot_count; i++) {
        *failed = i;
        if ((srv_host_slot_at(host->mailbox, i)->flags & SRV_SLOT_OFF) == 0) {
            status = make(host, job, i, error);
        }
    }
    return status;
}

/* ---- stepping ---------------------------------------------------------------------------------------------------- */

static void notify_server(struct srv_host_mailbox *mailbox)
{
    (void)__atomic_add_fetch(&mailbox->notifications, 1, __ATOMIC_RELEASE);
    srv_futex_wake(&mailbox->notifications);
}

static enum oto_step_status ask(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    struct asking *asking = context;
    struct srv_host_mailbox *mailbox = asking->mailbox;
    if (++asking->asks > SRV_HOST_QUESTIONS_PER_STEP) {
        return OTO_STEP_ERROR;
    }
    mailbox->question = (struct srv_host_question){.slot = asking->index, .at = at};
    const uint32_t number = __atomic_add_fetch(&mailbox->asked, 1, __ATOMIC_RELEASE);
    notify_server(mailbox);
    for (uint32_t spins = 0;; spins++) {
        const uint32_t answered = __atomic_load_n(&mailbox->answered, __ATOMIC_ACQUIRE);
        if (answered == number) {
            break;
        }
        if (spins < SPINS) {
            srv_pause();
        } else {
            srv_futex_wait(&mailbox->answered, answered, -1);
        }
    }
    *input = mailbox->answer;
    return (enum oto_step_status)mailbox->answer_status;
}

static const struct oto_input_sample *samples_of(struct srv_host_mailbox *mailbox, const struct srv_host_slot *slot)
{
    struct oto_input_sample *samples = at(mailbox, slot->samples_offset);
    for (uint32_t i = 0; i < slot->sample_count; i++) {
        samples[i].payload = at(mailbox, slot->payloads_offset + (uint64_t)i * slot->payload_stride);
    }
    return samples;
}

static uint32_t step(struct srv_host_mailbox *mailbox, uint32_t index, const struct srv_instance *made)
{
    struct srv_host_slot *slot = srv_host_slot_at(mailbox, index);
    struct oto_output outputs[OTO_PLUGIN_MAX_PORTS];
    struct asking asking = {mailbox, index, 0};
    for (uint32_t i = 0; i < slot->port_count; i++) {
        const struct srv_host_output *given = &slot->outputs[i];
        outputs[i] = (struct oto_output){.payload = at(mailbox, slot->payload_offset[i]),
                                         .t_ns = given->t_ns,
                                         .sensor_time_ns = given->sensor_time_ns,
                                         .flags = given->flags,
                                         .emit = given->emit};
        if (given->emit != 0) {
            memset(outputs[i].payload, 0, slot->payload_bytes[i]);
        }
    }
    struct oto_step now = oto_step_make(slot->tick, slot->n, slot->at, outputs);
    if (oto_plugin_estimator(made->plugin) != NULL) {
        now.estimator.samples = samples_of(mailbox, slot);
        now.estimator.sample_count = slot->sample_count;
    } else {
        now.sensor = (struct oto_sensor_step){&slot->input, ask, &asking};
    }
    const enum oto_step_status status = made->step(&made->abi, &now);
    for (uint32_t i = 0; i < slot->port_count; i++) {
        slot->outputs[i] =
            (struct srv_host_output){outputs[i].t_ns, outputs[i].sensor_time_ns, outputs[i].flags, outputs[i].emit};
    }
    if (!srv_fpu_is_pinned()) {
        srv_fpu_pin();
        return SRV_STEP_FLOAT_MODE;
    }
    return (uint32_t)status;
}

static void take_new_params(struct srv_host_mailbox *mailbox, uint32_t index, const struct srv_instance *made)
{
    struct srv_host_slot *slot = srv_host_slot_at(mailbox, index);
    slot->flags &= ~SRV_SLOT_NEW_PARAMS;
    if (made->ops->set_params != NULL) {
        host_mark_operation(mailbox, 1 + index, SRV_OPERATION_SET_PARAMS);
        made->ops->set_params(&made->abi, at(mailbox, slot->old_params_offset));
    }
}

/* A swap's candidate takes over the state. */
static enum srv_host_take_result take_over(struct srv_host_mailbox *mailbox, uint32_t index,
                                           const struct srv_instance *made)
{
    struct srv_host_slot *slot = srv_host_slot_at(mailbox, index);
    const struct oto_plugin_ops *ops = made->ops;
    host_mark_operation(mailbox, 1 + index, SRV_OPERATION_MIGRATE);
    if (slot->take == SRV_TAKE_MIGRATE &&
        (ops->migrate == NULL || ops->migrate(&made->abi, at(mailbox, slot->old_state_offset), slot->old_state_bytes,
                                              slot->old_state_version) != OTO_OK)) {
        return SRV_TAKEN_NOT_MIGRATED;
    }
    host_mark_operation(mailbox, 1 + index, SRV_OPERATION_VALIDATE);
    if (ops->validate != NULL && ops->validate(&made->abi) != OTO_OK) {
        return SRV_TAKEN_NOT_VALID;
    }
    const bool pinned = srv_fpu_is_pinned();
    srv_fpu_pin();
    return pinned ? SRV_TAKEN : SRV_TAKEN_FLOAT_MODE;
}

static void serve(struct host *host)
{
    struct srv_host_mailbox *mailbox = host->mailbox;
    for (uint32_t i = 0; i < mailbox->slot_count; i++) {
        struct srv_host_slot *slot = srv_host_slot_at(mailbox, i);
        if (slot->take != SRV_TAKE_NOTHING && host->instances[i].plugin != NULL) {
            slot->taken = take_over(mailbox, i, &host->instances[i]);
            host_mark_operation(mailbox, 0, SRV_OPERATION_IDLE);
        }
        if (slot->due == 0 || host->instances[i].plugin == NULL) {
            continue;
        }
        if ((slot->flags & SRV_SLOT_NEW_PARAMS) != 0) {
            take_new_params(mailbox, i, &host->instances[i]);
        }
        host_mark_operation(mailbox, 1 + i, SRV_OPERATION_STEP);
        const int64_t began_ns = srv_thread_cpu_ns();
        slot->status = slot->instants_offset != 0 ? host_move(mailbox, i, &host->instances[i])
                                                  : step(mailbox, i, &host->instances[i]);
        slot->step_ns = srv_thread_cpu_ns() - began_ns;
        host_mark_operation(mailbox, 0, SRV_OPERATION_IDLE);
    }
}

static _Noreturn void serve_for_ever(struct host *host)
{
    struct srv_host_mailbox *mailbox = host->mailbox;
    uint32_t seen = __atomic_load_n(&mailbox->done, __ATOMIC_RELAXED);
    for (;;) {
        const uint32_t wanted = __atomic_load_n(&mailbox->request, __ATOMIC_ACQUIRE);
        if (wanted == seen) {
            srv_futex_wait(&mailbox->request, seen, -1);
            continue;
        }
        serve(host);
        seen = wanted;
        __atomic_store_n(&mailbox->done, seen, __ATOMIC_RELEASE);
        notify_server(mailbox);
    }
}

int host_run(struct host_job *job)
{
    struct host host = {.mailbox = job->memory};
    struct oto_error error = {0};
    uint32_t failed = UINT32_MAX;
    srv_fpu_pin();
    enum oto_status status = host_crash_watch(&host.mailbox->crash, &error);
    if (status == OTO_OK) {
        status = make_all(&host, job, &failed, &error);
    }
    if (status == OTO_OK) {
        failed = UINT32_MAX;
        host_sandbox_take_priority(job->start.fifo_priority);
        status = host.runs_others ? OTO_OK : host_sandbox_close(&error);
    }
    if (status != OTO_OK) {
        (void)host_report(SRV_HOST_FAILED, failed, status, error.text);
        return EXIT_FAILURE;
    }
    __atomic_store_n(&host.mailbox->notifications, 1, __ATOMIC_RELEASE);
    const struct srv_host_message ready = {.kind = SRV_HOST_READY, .slot = UINT32_MAX, .landlock = job->landlock};
    if (!host_send(&ready)) {
        return EXIT_FAILURE;
    }
    serve_for_ever(&host);
}
