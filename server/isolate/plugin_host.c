#include "isolate/plugin_host.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/monotonic.h"
#include "base/temporary_directory.h"
#include "plugin/described.h"
#include "base/futex.h"

/* ---- layout ------------------------------------------------------------------------------------------------------ */

static uint64_t take(uint64_t *end, uint64_t bytes)
{
    const uint64_t start = *end;
    *end += (bytes + SRV_HOST_ALIGN - 1) / SRV_HOST_ALIGN * SRV_HOST_ALIGN;
    return start;
}

static void lay_out_inputs(const struct srv_inputs *inputs, struct srv_host_layout *layout, uint64_t *end)
{
    for (uint32_t i = 0; i < inputs->count; i++) {
        const uint32_t bytes = inputs->bindings[i].type->bytes;
        layout->payload_stride = bytes > layout->payload_stride ? bytes : layout->payload_stride;
    }
    layout->sample_capacity = inputs->capacity;
    layout->bindings_bytes = oto_bindings_pack(inputs->bindings, inputs->count, NULL);
    layout->bindings_offset = take(end, layout->bindings_bytes);
    layout->samples_offset = take(end, inputs->capacity * sizeof(struct oto_input_sample));
    layout->payloads_offset = take(end, (uint64_t)inputs->capacity * layout->payload_stride);
}

static void lay_out_instance(const struct srv_host_instance_spec *spec, struct srv_host_layout *layout, uint64_t *end)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(spec->plugin);
    layout->topic = spec->topic;
    layout->setup = spec->setup;
    layout->flags = spec->flags | (spec->old_params != NULL ? SRV_SLOT_NEW_PARAMS : 0);
    layout->state_bytes = descriptor->state_bytes;
    layout->state_offset = take(end, layout->state_bytes + 1);
    layout->old_state_bytes = spec->old_state_bytes;
    layout->old_state_version = spec->old_state_version;
    layout->old_state_offset = spec->old_state_bytes > 0 ? take(end, spec->old_state_bytes) : 0;
    layout->params_offset = take(end, spec->params.bytes + 1);
    layout->old_params_offset = spec->old_params != NULL ? take(end, spec->params.bytes + 1) : 0;
    layout->port_count = descriptor->output_count;
    for (uint32_t i = 0; i < layout->port_count; i++) {
        layout->payload_bytes[i] = descriptor->outputs[i].type->bytes;
        layout->payload_offset[i] = take(end, layout->payload_bytes[i]);
    }
    if (spec->inputs != NULL) {
        lay_out_inputs(spec->inputs, layout, end);
    }
    if (strcmp(descriptor->kind, OTO_KIND_MOTION) == 0) {
        layout->instants_offset = take(end, SRV_HOST_INSTANTS * sizeof(struct srv_host_instant));
        layout->controls_offset =
            oto_plugin_control(spec->plugin) != NULL ? take(end, SRV_HOST_CATCH_UP * sizeof(struct srv_host_controls)) : 0;
    }
}

static enum oto_status lay_out(struct srv_host *host, const struct srv_host_instance_spec *specs,
                               struct oto_error *error)
{
    host->bytes = SRV_HOST_HEAD_BYTES;
    (void)take(&host->bytes, host->slot_count * sizeof(struct srv_host_slot));
    for (uint32_t i = 0; i < host->slot_count; i++) {
        struct srv_host_layout *layout = &host->layouts[i];
        lay_out_instance(&specs[i], layout, &host->bytes);
        layout->plugin = oto_plugin_hold(specs[i].plugin);
        layout->params = oto_params_copy(&specs[i].params);
    }
    return host->bytes <= SRV_HOST_MAX_BYTES
               ? OTO_OK
               : oto_fail(error, OTO_LIMIT,
                          "the states and parameters of a plugin host take %llu bytes; at most %llu "
                          "are accepted: spread the nodes over several groups",
                          (unsigned long long)host->bytes, (unsigned long long)SRV_HOST_MAX_BYTES);
}

static void fill_inputs(struct srv_host *host, struct srv_host_slot *slot, const struct srv_host_layout *layout,
                        const struct srv_inputs *inputs)
{
    slot->bindings_offset = layout->bindings_offset;
    slot->bindings_bytes = layout->bindings_bytes;
    slot->samples_offset = layout->samples_offset;
    slot->payloads_offset = layout->payloads_offset;
    slot->payload_stride = layout->payload_stride;
    (void)oto_bindings_pack(inputs->bindings, inputs->count, srv_host_at(host, layout->bindings_offset));
}

static void fill_slot(struct srv_host *host, uint32_t index, const struct srv_host_instance_spec *spec)
{
    const struct srv_host_layout *layout = &host->layouts[index];
    struct srv_host_slot *slot = srv_host_slot(host, index);
    slot->setup = layout->setup;
    slot->setup.estimator.inputs = NULL; /* pointers into this process: the host has its own */
    (void)snprintf(slot->path, sizeof slot->path, "%s", oto_plugin_path(layout->plugin));
    slot->params_offset = layout->params_offset;
    slot->params_bytes = layout->params.bytes;
    slot->old_params_offset = layout->old_params_offset;
    slot->state_offset = layout->state_offset;
    slot->state_bytes = layout->state_bytes;
    slot->old_state_offset = layout->old_state_offset;
    slot->old_state_bytes = layout->old_state_bytes;
    slot->old_state_version = layout->old_state_version;
    slot->port_count = layout->port_count;
    memcpy(slot->payload_offset, layout->payload_offset, sizeof slot->payload_offset);
    memcpy(slot->payload_bytes, layout->payload_bytes, sizeof slot->payload_bytes);
    slot->plugin = layout->plugin_index;
    slot->flags = layout->flags;
    slot->instants_offset = layout->instants_offset;
    slot->controls_offset = layout->controls_offset;
    slot->instant_count = layout->instants_offset != 0; /* the truth at time zero, with the first state */
    if (layout->params.bytes > 0) {
        memcpy(srv_host_at(host, layout->params_offset), layout->params.block, layout->params.bytes);
    }
    if (spec->old_params != NULL && spec->old_params->bytes > 0) {
        memcpy(srv_host_at(host, layout->old_params_offset), spec->old_params->block, spec->old_params->bytes);
    }
    if (spec->inputs != NULL) {
        fill_inputs(host, slot, layout, spec->inputs);
    }
}

/* Each plugin is sent once, however many nodes run it. */
static enum oto_status gather_plugins(struct srv_host *host, int *fds, uint32_t *count, struct oto_error *error)
{
    *count = 0;
    for (uint32_t i = 0; i < host->slot_count; i++) {
        const int fd = oto_plugin_fd(host->layouts[i].plugin);
        uint32_t known = 0;
        while (known < *count && fds[known] != fd) {
            known++;
        }
        if (known == SRV_HOST_MAX_PLUGINS) {
            return oto_fail(error, OTO_LIMIT,
                            "a plugin host takes at most %u different plugins; spread the nodes over "
                            "several groups",
                            SRV_HOST_MAX_PLUGINS);
        }
        fds[known] = fd;
        *count = known == *count ? known + 1 : *count;
        host->layouts[i].plugin_index = known;
    }
    return OTO_OK;
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

static const char *topic_of(const struct srv_host *host, uint32_t slot)
{
    return slot < host->slot_count ? host->layouts[slot].topic : "its nodes";
}

static enum oto_status fail_with_end(struct srv_host *host, uint32_t *culprit, struct oto_error *error)
{
    char how[300];
    const int64_t deadline_ns = srv_now_ns() + SRV_HOST_START_TIMEOUT_NS / 10;
    while (!srv_host_reap(host) && srv_now_ns() < deadline_ns) {
        const struct timespec moment = {0, 200000}; /* the socket is closed: the process ends now */
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    }
    *culprit = srv_host_culprit(host);
    if (host->pid != 0) {
        return oto_fail(error, OTO_IO, "the socket to the plugin host of '%s' failed", topic_of(host, *culprit));
    }
    srv_host_describe_end(host, how, sizeof how);
    return oto_fail(error, OTO_PLUGIN, "the plugin host of '%s' %s", topic_of(host, *culprit), how);
}

static enum oto_status await_ready(struct srv_host *host, oto_warn_function warn, void *warn_context, uint32_t *culprit,
                                   struct oto_error *error)
{
    struct srv_host_process process = {host->pid, host->pid_fd, host->control_fd};
    struct srv_host_message message;
    const int64_t deadline_ns = srv_now_ns() + SRV_HOST_START_TIMEOUT_NS;
    for (;;) {
        const enum oto_status status = srv_host_receive(&process, deadline_ns, &message);
        if (status == OTO_TIMEOUT) {
            *culprit = srv_host_culprit(host);
            return oto_fail(error, OTO_TIMEOUT, "the plugin host was not ready within %d s: it is still in %s of '%s'",
                            (int)(SRV_HOST_START_TIMEOUT_NS / 1000000000),
                            srv_host_operation_text(host->memory->current_operation), topic_of(host, *culprit));
        }
        if (status != OTO_OK) {
            return fail_with_end(host, culprit, error);
        }
        if (message.kind == SRV_HOST_READY) {
            host->landlock = message.landlock;
            return OTO_OK;
        }
        if (message.kind == SRV_HOST_FAILED) {
            *culprit = message.slot < host->slot_count ? message.slot : UINT32_MAX;
            return oto_fail(error,
                            message.status > OTO_OK && message.status <= OTO_PLUGIN ? message.status : OTO_PLUGIN,
                            "node '%s': %s", topic_of(host, *culprit), message.text);
        }
        if (message.kind == SRV_HOST_WARNS && warn != NULL) {
            warn(warn_context, message.text);
        }
    }
}

/* A host that runs code of others gets a directory, which srv_host_end removes. */
static enum oto_status make_own_directory(struct srv_host *host, struct oto_error *error)
{
    bool needed = false;
    for (uint32_t i = 0; i < host->slot_count; i++) {
        needed = needed || (oto_plugin_descriptor(host->layouts[i].plugin)->flags & OTO_PLUGIN_HOST_ONLY) != 0;
    }
    return needed ? srv_temporary_directory_make("otolith-host", host->own_directory, sizeof host->own_directory, error) : OTO_OK;
}

static enum oto_status make(struct srv_host *host, const struct srv_host_instance_spec *specs, int32_t fifo_priority,
                            struct oto_error *error)
{
    int fds[SRV_HOST_MAX_PLUGINS], memory_fd = -1;
    uint32_t plugin_count = 0;
    enum oto_status status = lay_out(host, specs, error);
    if (status == OTO_OK) {
        status = gather_plugins(host, fds, &plugin_count, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    host->memory = srv_host_memory("otolith-mailbox", host->bytes, &memory_fd, error);
    if (host->memory == NULL) {
        return OTO_NO_MEMORY;
    }
    host->memory->magic = SRV_HOST_MAGIC;
    host->memory->version = SRV_HOST_VERSION;
    host->memory->slot_count = host->slot_count;
    host->memory->bytes = host->bytes;
    for (uint32_t i = 0; i < host->slot_count; i++) {
        fill_slot(host, i, &specs[i]);
    }
    status = make_own_directory(host, error);
    if (status != OTO_OK) {
        (void)close(memory_fd);
        return status;
    }
    struct srv_host_process process;
    const struct srv_host_spawn_options order = {.work = SRV_HOST_RUN,
                                                 .memory_fd = memory_fd,
                                                 .bytes = host->bytes,
                                                 .plugin_fds = fds,
                                                 .plugin_count = plugin_count,
                                                 .fifo_priority = fifo_priority,
                                                 .own_directory = host->own_directory};
    status = srv_host_spawn(&order, &process, error);
    (void)close(memory_fd);
    host->pid = process.pid;
    host->pid_fd = process.pid_fd;
    host->control_fd = process.control_fd;
    return status;
}

enum oto_status srv_host_start(const struct srv_host_instance_spec *specs, uint32_t spec_count, int32_t fifo_priority,
                               oto_warn_function warn, void *warn_context, struct srv_host **out, uint32_t *culprit,
                               struct oto_error *error)
{
    *out = NULL;
    *culprit = UINT32_MAX;
    if (spec_count == 0 || spec_count > SRV_HOST_MAX_SLOTS) {
        return oto_fail(error, OTO_LIMIT, "a plugin host for %u nodes; 1 to %u are accepted", spec_count,
                        SRV_HOST_MAX_SLOTS);
    }
    struct srv_host *host = calloc(1, sizeof *host);
    struct srv_host_layout *layouts = calloc(spec_count, sizeof *layouts);
    if (host == NULL || layouts == NULL) {
        free(host);
        free(layouts);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a plugin host");
    }
    host->layouts = layouts;
    host->slot_count = spec_count;
    host->pid_fd = host->control_fd = -1;
    enum oto_status status = make(host, specs, fifo_priority, error);
    if (status == OTO_OK) {
        status = await_ready(host, warn, warn_context, culprit, error);
    }
    if (status != OTO_OK) {
        srv_host_end(host);
        return status;
    }
    *out = host;
    return OTO_OK;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

void srv_host_put_samples(const struct srv_host *host, uint32_t slot, const struct srv_inputs *inputs, uint32_t count)
{
    const struct srv_host_layout *layout = &host->layouts[slot];
    struct oto_input_sample *samples = srv_host_at(host, layout->samples_offset);
    unsigned char *payload = srv_host_at(host, layout->payloads_offset);
    count = count < layout->sample_capacity ? count : layout->sample_capacity;
    for (uint32_t i = 0; i < count; i++, payload += layout->payload_stride) {
        samples[i] = inputs->samples[i];
        samples[i].payload = NULL; /* the host fills it in */
        memcpy(payload, inputs->samples[i].payload, inputs->bindings[samples[i].input].type->bytes);
    }
    srv_host_slot(host, slot)->sample_count = count;
}

/* ---- end --------------------------------------------------------------------------------------------------------- */

bool srv_host_reap(struct srv_host *host)
{
    siginfo_t facts;
    if (host->pid == 0) {
        return true;
    }
    if (!srv_child_has_ended(host->pid, &facts)) {
        return false;
    }
    host->end_code = facts.si_code;
    host->end_status = facts.si_status;
    host->pid = 0;
    __atomic_store_n(&host->dead, 1, __ATOMIC_RELEASE);
    (void)__atomic_add_fetch(&host->memory->notifications, 1, __ATOMIC_RELEASE);
    srv_futex_wake(&host->memory->notifications);
    return true;
}

void srv_host_end(struct srv_host *host)
{
    if (host == NULL) {
        return;
    }
    struct srv_host_process process = {host->pid, host->pid_fd, host->control_fd};
    srv_host_process_end(&process);
    srv_temporary_directory_remove(host->own_directory);
    if (host->memory != NULL) {
        (void)munmap(host->memory, host->bytes);
    }
    for (uint32_t i = 0; i < host->slot_count; i++) {
        oto_params_free(&host->layouts[i].params);
        (void)oto_plugin_close(host->layouts[i].plugin);
    }
    free(host->layouts);
    free(host);
}

uint32_t srv_host_culprit(const struct srv_host *host)
{
    const uint32_t current_slot = __atomic_load_n(&host->memory->current_slot, __ATOMIC_ACQUIRE);
    return current_slot > 0 && current_slot <= host->slot_count ? current_slot - 1 : UINT32_MAX;
}

/* A signal that another process sent has si_code <= 0; one that cannot be caught leaves no record. */
bool srv_host_was_ended_by_plugin(const struct srv_host *host)
{
    const struct srv_host_crash *crash = &host->memory->crash;
    if (host->was_stuck) {
        return true;
    }
    const bool sent = crash->signal != 0 && crash->signal < 64 && (int32_t)crash->code <= 0 && crash->signal != SIGABRT;
    const bool ordered = host->end_code != CLD_EXITED && (host->end_status == SIGKILL || host->end_status == SIGTERM);
    return !sent && !ordered;
}

void srv_host_describe_end(const struct srv_host *host, char *text, size_t bytes)
{
    struct srv_host_crash crash = host->memory->crash;
    const uint32_t operation = host->memory->current_operation;
    const bool named = srv_host_culprit(host) != UINT32_MAX;
    char how[240];
    if (host->was_stuck) {
        (void)snprintf(how, sizeof how, "did not answer and was ended");
    } else if (crash.signal != 0) {
        int fd = -1;
        for (uint32_t i = 0; i < host->slot_count && crash.in_plugin != 0; i++) {
            fd = host->layouts[i].plugin_index == crash.in_plugin - 1 ? oto_plugin_fd(host->layouts[i].plugin) : fd;
        }
        srv_crash_describe(&crash, fd, how, sizeof how);
    } else if (host->end_code == CLD_EXITED) {
        (void)snprintf(how, sizeof how, "ended with code %d", host->end_status);
    } else {
        (void)snprintf(how, sizeof how, "was ended by SIG%s from outside",
                       sigabbrev_np(host->end_status) != NULL ? sigabbrev_np(host->end_status) : "?");
    }
    (void)snprintf(text, bytes, "%s%s%s", how, named ? ", in " : "", named ? srv_host_operation_text(operation) : "");
}
