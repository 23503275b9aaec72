#include "isolate/box.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/monotonic.h"
#include "plugin/described.h"
#include "base/futex.h"

/* ---- layout ------------------------------------------------------------------------------------------------------ */

static uint64_t take(uint64_t *end, uint64_t bytes)
{
    const uint64_t start = *end;
    *end += (bytes + SRV_BOX_ALIGN - 1) / SRV_BOX_ALIGN * SRV_BOX_ALIGN;
    return start;
}

static void lay_out_inputs(const struct srv_inputs *inputs, struct srv_box_place *place, uint64_t *end)
{
    for (uint32_t i = 0; i < inputs->count; i++) {
        const uint32_t bytes = inputs->bindings[i].type->bytes;
        place->payload_stride = bytes > place->payload_stride ? bytes : place->payload_stride;
    }
    place->sample_capacity = inputs->capacity;
    place->bindings_bytes = oto_bindings_pack(inputs->bindings, inputs->count, NULL);
    place->bindings_offset = take(end, place->bindings_bytes);
    place->samples_offset = take(end, inputs->capacity * sizeof(struct oto_input_sample));
    place->payloads_offset = take(end, (uint64_t)inputs->capacity * place->payload_stride);
}

static void lay_out_seat(const struct srv_box_seat *seat, struct srv_box_place *place, uint64_t *end)
{
    const struct oto_plugin_descriptor *descriptor = oto_plugin_descriptor(seat->plugin);
    place->topic = seat->topic;
    place->setup = seat->setup;
    place->flags = seat->flags | (seat->old_params != NULL ? SRV_SLOT_NEW_PARAMS : 0);
    place->state_bytes = descriptor->state_bytes;
    place->state_offset = take(end, place->state_bytes + 1);
    place->old_state_bytes = seat->old_state_bytes;
    place->old_state_version = seat->old_state_version;
    place->old_state_offset = seat->old_state_bytes > 0 ? take(end, seat->old_state_bytes) : 0;
    place->params_offset = take(end, seat->params.bytes + 1);
    place->old_params_offset = seat->old_params != NULL ? take(end, seat->params.bytes + 1) : 0;
    place->port_count = descriptor->output_count;
    for (uint32_t i = 0; i < place->port_count; i++) {
        place->payload_bytes[i] = descriptor->outputs[i].type->bytes;
        place->payload_offset[i] = take(end, place->payload_bytes[i]);
    }
    if (seat->inputs != NULL) {
        lay_out_inputs(seat->inputs, place, end);
    }
    if (strcmp(descriptor->kind, OTO_KIND_MOTION) == 0) {
        place->instants_offset = take(end, SRV_BOX_INSTANTS * sizeof(struct srv_box_instant));
    }
}

static enum oto_status lay_out(struct srv_box *box, const struct srv_box_seat *seats, struct oto_error *error)
{
    box->bytes = SRV_BOX_HEAD_BYTES;
    (void)take(&box->bytes, box->slot_count * sizeof(struct srv_box_slot));
    for (uint32_t i = 0; i < box->slot_count; i++) {
        struct srv_box_place *place = &box->places[i];
        lay_out_seat(&seats[i], place, &box->bytes);
        place->plugin = oto_plugin_hold(seats[i].plugin);
        const enum oto_status status = oto_params_copy(&seats[i].params, &place->params, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    return box->bytes <= SRV_BOX_MAX_BYTES
               ? OTO_OK
               : oto_fail(error, OTO_LIMIT, "the states and parameters of a plugin host take %llu bytes; at most %llu "
                          "are accepted: spread the nodes over several groups", (unsigned long long)box->bytes,
                          (unsigned long long)SRV_BOX_MAX_BYTES);
}

static void fill_inputs(struct srv_box *box, struct srv_box_slot *slot, const struct srv_box_place *place,
                        const struct srv_inputs *inputs)
{
    slot->bindings_offset = place->bindings_offset;
    slot->bindings_bytes = place->bindings_bytes;
    slot->samples_offset = place->samples_offset;
    slot->payloads_offset = place->payloads_offset;
    slot->payload_stride = place->payload_stride;
    (void)oto_bindings_pack(inputs->bindings, inputs->count, srv_box_at(box, place->bindings_offset));
}

static void fill_slot(struct srv_box *box, uint32_t index, const struct srv_box_seat *seat)
{
    const struct srv_box_place *place = &box->places[index];
    struct srv_box_slot *slot = srv_box_slot(box, index);
    slot->setup = place->setup;
    slot->setup.estimator.inputs = NULL; /* pointers into this process: the host has its own */
    (void)snprintf(slot->path, sizeof slot->path, "%s", oto_plugin_path(place->plugin));
    slot->params_offset = place->params_offset;
    slot->params_bytes = place->params.bytes;
    slot->old_params_offset = place->old_params_offset;
    slot->state_offset = place->state_offset;
    slot->state_bytes = place->state_bytes;
    slot->old_state_offset = place->old_state_offset;
    slot->old_state_bytes = place->old_state_bytes;
    slot->old_state_version = place->old_state_version;
    slot->port_count = place->port_count;
    memcpy(slot->payload_offset, place->payload_offset, sizeof slot->payload_offset);
    memcpy(slot->payload_bytes, place->payload_bytes, sizeof slot->payload_bytes);
    slot->plugin = place->plugin_index;
    slot->flags = place->flags;
    slot->instants_offset = place->instants_offset;
    slot->instant_count = place->instants_offset != 0; /* the truth at time zero, with the first state */
    if (place->params.bytes > 0) {
        memcpy(srv_box_at(box, place->params_offset), place->params.block, place->params.bytes);
    }
    if (seat->old_params != NULL && seat->old_params->bytes > 0) {
        memcpy(srv_box_at(box, place->old_params_offset), seat->old_params->block, seat->old_params->bytes);
    }
    if (seat->inputs != NULL) {
        fill_inputs(box, slot, place, seat->inputs);
    }
}

/* Each plugin goes over once, however many nodes run it. */
static enum oto_status gather_plugins(struct srv_box *box, int *fds, uint32_t *count, struct oto_error *error)
{
    *count = 0;
    for (uint32_t i = 0; i < box->slot_count; i++) {
        const int fd = oto_plugin_fd(box->places[i].plugin);
        uint32_t known = 0;
        while (known < *count && fds[known] != fd) {
            known++;
        }
        if (known == SRV_BOX_MAX_PLUGINS) {
            return oto_fail(error, OTO_LIMIT, "a plugin host takes at most %u different plugins; spread the nodes over "
                            "several groups", SRV_BOX_MAX_PLUGINS);
        }
        fds[known] = fd;
        *count = known == *count ? known + 1 : *count;
        box->places[i].plugin_index = known;
    }
    return OTO_OK;
}

/* ---- start ------------------------------------------------------------------------------------------------------- */

static const char *topic_of(const struct srv_box *box, uint32_t slot)
{
    return slot < box->slot_count ? box->places[slot].topic : "its nodes";
}

static enum oto_status tell_end(struct srv_box *box, uint32_t *culprit, struct oto_error *error)
{
    char how[300];
    const int64_t deadline_ns = srv_now_ns() + SRV_BOX_START_NS / 10;
    while (!srv_box_reap(box) && srv_now_ns() < deadline_ns) {
        const struct timespec moment = {0, 200000}; /* the socket was closed: it is ending */
        (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, NULL);
    }
    *culprit = srv_box_culprit(box);
    if (box->pid != 0) {
        return oto_fail(error, OTO_IO, "the plugin host of '%s' cannot be heard", topic_of(box, *culprit));
    }
    srv_box_tell_death(box, how, sizeof how);
    return oto_fail(error, OTO_PLUGIN, "the plugin host of '%s' %s", topic_of(box, *culprit), how);
}

static enum oto_status await_ready(struct srv_box *box, oto_warn_function warn, void *warn_context, uint32_t *culprit,
                                   struct oto_error *error)
{
    struct srv_host_process process = {box->pid, box->pid_fd, box->control_fd};
    struct srv_host_message message;
    const int64_t deadline_ns = srv_now_ns() + SRV_BOX_START_NS;
    for (;;) {
        const enum oto_status status = srv_host_receive(&process, deadline_ns, &message);
        if (status == OTO_TIMEOUT) {
            *culprit = srv_box_culprit(box);
            return oto_fail(error, OTO_TIMEOUT, "the plugin host was not ready within %d s: it is still in %s of '%s'",
                            (int)(SRV_BOX_START_NS / 1000000000), srv_doing_text(box->memory->crumb_doing),
                            topic_of(box, *culprit));
        }
        if (status != OTO_OK) {
            return tell_end(box, culprit, error);
        }
        if (message.saying == SRV_HOST_READY) {
            box->landlock = message.landlock;
            return OTO_OK;
        }
        if (message.saying == SRV_HOST_FAILED) {
            *culprit = message.slot < box->slot_count ? message.slot : UINT32_MAX;
            return oto_fail(error, message.status > OTO_OK && message.status <= OTO_PLUGIN ? message.status : OTO_PLUGIN,
                            "node '%s': %s", topic_of(box, *culprit), message.text);
        }
        if (message.saying == SRV_HOST_WARNS && warn != NULL) {
            warn(warn_context, message.text);
        }
    }
}

static enum oto_status make(struct srv_box *box, const struct srv_box_seat *seats, int32_t fifo_priority,
                            struct oto_error *error)
{
    int fds[SRV_BOX_MAX_PLUGINS], memory_fd = -1;
    uint32_t plugin_count = 0;
    enum oto_status status = lay_out(box, seats, error);
    if (status == OTO_OK) {
        status = gather_plugins(box, fds, &plugin_count, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    box->memory = srv_host_memory("otolith-mailbox", box->bytes, &memory_fd, error);
    if (box->memory == NULL) {
        return OTO_NO_MEMORY;
    }
    box->memory->magic = SRV_BOX_MAGIC;
    box->memory->version = SRV_BOX_VERSION;
    box->memory->slot_count = box->slot_count;
    box->memory->bytes = box->bytes;
    for (uint32_t i = 0; i < box->slot_count; i++) {
        fill_slot(box, i, &seats[i]);
    }
    struct srv_host_process process;
    const struct srv_host_order order = {.work = SRV_HOST_RUN, .memory_fd = memory_fd, .bytes = box->bytes,
                                         .plugin_fds = fds, .plugin_count = plugin_count,
                                         .fifo_priority = fifo_priority};
    status = srv_host_spawn(&order, &process, error);
    (void)close(memory_fd);
    box->pid = process.pid;
    box->pid_fd = process.pid_fd;
    box->control_fd = process.control_fd;
    return status;
}

enum oto_status srv_box_start(const struct srv_box_seat *seats, uint32_t seat_count, int32_t fifo_priority,
                              oto_warn_function warn, void *warn_context, struct srv_box **out, uint32_t *culprit,
                              struct oto_error *error)
{
    *out = NULL;
    *culprit = UINT32_MAX;
    if (seat_count == 0 || seat_count > SRV_BOX_MAX_SLOTS) {
        return oto_fail(error, OTO_LIMIT, "a plugin host for %u nodes; 1 to %u are accepted", seat_count,
                        SRV_BOX_MAX_SLOTS);
    }
    struct srv_box *box = calloc(1, sizeof *box);
    struct srv_box_place *places = calloc(seat_count, sizeof *places);
    if (box == NULL || places == NULL) {
        free(box);
        free(places);
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a plugin host");
    }
    box->places = places;
    box->slot_count = seat_count;
    box->pid_fd = box->control_fd = -1;
    enum oto_status status = make(box, seats, fifo_priority, error);
    if (status == OTO_OK) {
        status = await_ready(box, warn, warn_context, culprit, error);
    }
    if (status != OTO_OK) {
        srv_box_end(box);
        return status;
    }
    *out = box;
    return OTO_OK;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

void srv_box_put_samples(const struct srv_box *box, uint32_t slot, const struct srv_inputs *inputs, uint32_t count)
{
    const struct srv_box_place *place = &box->places[slot];
    struct oto_input_sample *samples = srv_box_at(box, place->samples_offset);
    unsigned char *payload = srv_box_at(box, place->payloads_offset);
    count = count < place->sample_capacity ? count : place->sample_capacity;
    for (uint32_t i = 0; i < count; i++, payload += place->payload_stride) {
        samples[i] = inputs->samples[i];
        samples[i].payload = NULL; /* the host knows where it is */
        memcpy(payload, inputs->samples[i].payload, inputs->bindings[samples[i].input].type->bytes);
    }
    srv_box_slot(box, slot)->sample_count = count;
}

/* ---- end --------------------------------------------------------------------------------------------------------- */

bool srv_box_reap(struct srv_box *box)
{
    siginfo_t facts;
    if (box->pid == 0) {
        return true;
    }
    if (!srv_child_has_ended(box->pid, &facts)) {
        return false;
    }
    box->how_code = facts.si_code;
    box->how_status = facts.si_status;
    box->pid = 0;
    __atomic_store_n(&box->dead, 1, __ATOMIC_RELEASE);
    (void)__atomic_add_fetch(&box->memory->news, 1, __ATOMIC_RELEASE);
    srv_futex_wake(&box->memory->news);
    return true;
}

void srv_box_end(struct srv_box *box)
{
    if (box == NULL) {
        return;
    }
    struct srv_host_process process = {box->pid, box->pid_fd, box->control_fd};
    srv_host_finish(&process);
    if (box->memory != NULL) {
        (void)munmap(box->memory, box->bytes);
    }
    for (uint32_t i = 0; i < box->slot_count; i++) {
        oto_params_free(&box->places[i].params);
        (void)oto_plugin_close(box->places[i].plugin);
    }
    free(box->places);
    free(box);
}

uint32_t srv_box_culprit(const struct srv_box *box)
{
    const uint32_t crumb = __atomic_load_n(&box->memory->crumb_slot, __ATOMIC_ACQUIRE);
    return crumb > 0 && crumb <= box->slot_count ? crumb - 1 : UINT32_MAX;
}

/* A signal that another process sent has si_code <= 0; one that cannot be caught leaves no record. */
bool srv_box_is_guilty(const struct srv_box *box)
{
    const struct srv_box_crash *crash = &box->memory->crash;
    if (box->was_stuck) {
        return true;
    }
    const bool sent = crash->signal != 0 && crash->signal < 64 && (int32_t)crash->code <= 0 && crash->signal != SIGABRT;
    const bool ordered = box->how_code != CLD_EXITED && (box->how_status == SIGKILL || box->how_status == SIGTERM);
    return !sent && !ordered;
}

void srv_box_tell_death(const struct srv_box *box, char *text, size_t bytes)
{
    struct srv_box_crash crash = box->memory->crash;
    const uint32_t doing = box->memory->crumb_doing;
    const bool named = srv_box_culprit(box) != UINT32_MAX;
    char how[240];
    if (box->was_stuck) {
        (void)snprintf(how, sizeof how, "did not answer and was ended");
    } else if (crash.signal != 0) {
        int fd = -1;
        for (uint32_t i = 0; i < box->slot_count && crash.in_plugin != 0; i++) {
            fd = box->places[i].plugin_index == crash.in_plugin - 1 ? oto_plugin_fd(box->places[i].plugin) : fd;
        }
        srv_crash_tell(&crash, fd, how, sizeof how);
    } else if (box->how_code == CLD_EXITED) {
        (void)snprintf(how, sizeof how, "ended with code %d", box->how_status);
    } else {
        (void)snprintf(how, sizeof how, "was ended by SIG%s from outside",
                       sigabbrev_np(box->how_status) != NULL ? sigabbrev_np(box->how_status) : "?");
    }
    (void)snprintf(text, bytes, "%s%s%s", how, named ? ", in " : "", named ? srv_doing_text(doing) : "");
}
