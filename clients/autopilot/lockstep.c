#include "lockstep.h"

#include <stdio.h>
#include <string.h>

#include "base/monotonic.h"
#include "base/wide.h"

#define LOOK_MS 100 /* longest time until a signal is noticed while the world is slow */
#define LOOK_NS INT64_C(100000000)
#define TAKEN_NS INT64_C(3000000000) /* the server frees the name of a killed participant within this time */

static enum oto_status try_join(struct lockstep *lockstep, struct oto_error *error)
{
    const struct oto_participant_options options = {.size = sizeof options, .world = lockstep->world, .name = lockstep->name, .answer_ms = -1};
    enum oto_status status = oto_participant_join(&options, &lockstep->participant, error);
    if (status != OTO_OK) {
        return status;
    }
    lockstep->client = oto_participant_client(lockstep->participant);
    lockstep->vehicle = oto_participant_controlled(lockstep->participant);
    (void)snprintf(lockstep->world_name, sizeof lockstep->world_name, "%s", oto_client_header(lockstep->client)->world);
    lockstep->world = lockstep->world_name;
    if (lockstep->vehicle == NULL) {
        lockstep_leave(lockstep);
        return oto_fail(error, OTO_UNSUPPORTED, "participant '%s' of world '%s' controls no vehicle: write `motion: {…, controls: %s}` in its file",
                        lockstep->name, lockstep->world_name, lockstep->name);
    }
    return OTO_OK;
}

enum oto_status lockstep_join(struct lockstep *lockstep, struct srv_program *program, struct oto_error *error)
{
    const int64_t until_ns = srv_now_ns() + TAKEN_NS;
    enum oto_status status = try_join(lockstep, error);
    while (status == OTO_EXISTS && srv_now_ns() < until_ns && !program->is_ending) {
        (void)srv_program_wait(program, -1, LOOK_NS);
        status = try_join(lockstep, error);
    }
    return status;
}

void lockstep_leave(struct lockstep *lockstep)
{
    oto_participant_leave(lockstep->participant);
    lockstep->participant = NULL;
    lockstep->has_grant = false;
    lockstep->client = NULL;
    lockstep->vehicle = NULL;
}

enum oto_status lockstep_follow(struct lockstep *lockstep, struct srv_program *program, int64_t wait_s, struct oto_error *error)
{
    const int64_t until_ns = srv_now_ns() + wait_s * 1000000000;
    enum oto_status status = OTO_TIMEOUT;
    lockstep_leave(lockstep);
    while (status != OTO_OK && status != OTO_UNSUPPORTED) {
        if (program->is_ending) {
            return OTO_CLOSED;
        }
        status = try_join(lockstep, error);
        if (status != OTO_OK && srv_now_ns() >= until_ns) {
            return OTO_TIMEOUT;
        }
        if (status != OTO_OK) {
            (void)srv_program_wait(program, -1, LOOK_NS);
        }
    }
    return status;
}

static bool is_controller(const struct lockstep *lockstep)
{
    return oto_participant_role_of(lockstep->participant) == OTO_ROLE_CONTROLLER;
}

bool lockstep_drives(const struct lockstep *lockstep)
{
    return is_controller(lockstep) ||
           (oto_participant_role_of(lockstep->participant) == OTO_ROLE_MASTER &&
            __atomic_load_n(&oto_client_header(lockstep->client)->mode, __ATOMIC_RELAXED) == OTO_MODE_EXTERNAL);
}

uint64_t lockstep_tick(const struct lockstep *lockstep)
{
    struct oto_clock clock = {0};
    (void)oto_client_clock(lockstep->client, &clock);
    return clock.tick;
}

/* As the master: allows the ticks, and waits for them. */
static enum oto_status grant_until(struct lockstep *lockstep, uint64_t tick, struct oto_error *error)
{
    const enum oto_status status = oto_participant_run_until(lockstep->participant, tick, error);
    return status == OTO_OK ? oto_participant_wait_completed(lockstep->participant, tick, LOOK_MS, error) : status;
}

/*
 * As one of several that the ticks wait for: answers each grant until the one that begins at `tick`, which stays unanswered while
 * the autopilot computes its next controls.
 */
static enum oto_status answer_until(struct lockstep *lockstep, uint64_t tick, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    while (status == OTO_OK && !(lockstep->has_grant && lockstep->grant.tick >= tick)) {
        if (lockstep->has_grant) {
            lockstep->has_grant = false;
            status = oto_participant_done(lockstep->participant, tick < lockstep->grant.until ? tick : lockstep->grant.until);
        }
        if (status == OTO_OK) {
            status = oto_participant_wait(lockstep->participant, LOOK_MS, &lockstep->grant, error);
            lockstep->has_grant = status == OTO_OK;
        }
    }
    return status;
}

enum oto_status lockstep_run(struct lockstep *lockstep, struct srv_program *program, uint64_t tick, struct oto_error *error)
{
    enum oto_status status = OTO_TIMEOUT;
    while (status == OTO_TIMEOUT) {
        if (is_controller(lockstep)) {
            status = answer_until(lockstep, tick, error);
        } else if (lockstep_drives(lockstep)) { /* its mode can change while the world runs */
            status = grant_until(lockstep, tick, error);
        } else {
            status = oto_client_wait_tick(lockstep->client, tick - 1, LOOK_MS);
        }
        if (status == OTO_TIMEOUT) {
            if (srv_program_must_end(program)) {
                return OTO_TIMEOUT;
            }
            status = oto_client_run_is_over(lockstep->client) ? OTO_CLOSED : OTO_TIMEOUT;
        }
    }
    return status;
}

uint64_t lockstep_tick_of(const struct lockstep *lockstep, uint64_t n, uint64_t rate_num, uint64_t rate_den)
{
    const struct oto_segment_header *header = oto_client_header(lockstep->client);
    const srv_wide ticks = (srv_wide)n * rate_den * header->rate_num;
    const srv_wide per = (srv_wide)rate_num * header->rate_den;
    return (uint64_t)((ticks + per - 1) / per);
}

uint64_t lockstep_events_by(const struct lockstep *lockstep, uint64_t tick, uint64_t rate_num, uint64_t rate_den)
{
    const struct oto_segment_header *header = oto_client_header(lockstep->client);
    return (uint64_t)((srv_wide)tick * header->rate_den * rate_num / ((srv_wide)header->rate_num * rate_den));
}

static bool is_of_vehicle(const struct lockstep *lockstep, const struct oto_channel *channel)
{
    const char *slash = strchr(channel->node, '/');
    const size_t length = strlen(lockstep->vehicle);
    return slash != NULL && strncmp(slash + 1, lockstep->vehicle, length) == 0 && slash[1 + length] == '/';
}

const struct oto_channel *lockstep_channel(const struct lockstep *lockstep, const char *name, const struct oto_record_type *type,
                                           struct oto_error *error)
{
    char node[OTO_TOPIC_BYTES];
    if (name != NULL) {
        (void)snprintf(node, sizeof node, "%s/%s/%s", lockstep->world_name, lockstep->vehicle, name);
        const struct oto_channel *found = oto_client_find(lockstep->client, node, error);
        if (found != NULL && (strcmp(found->type.name, type->name) != 0 || found->type.bytes != type->bytes)) {
            (void)oto_fail(error, OTO_INVALID, "node '%s' publishes records of type %s; %s is needed", name, found->type.name, type->name);
            return NULL;
        }
        return found;
    }
    for (uint32_t i = 0; i < oto_client_channel_count(lockstep->client); i++) {
        const struct oto_channel *channel = oto_client_channel(lockstep->client, i);
        if (is_of_vehicle(lockstep, channel) && (channel->flags & OTO_CHANNEL_ENABLED) != 0 && strcmp(channel->type.name, type->name) == 0 &&
            channel->type.bytes == type->bytes) {
            return channel;
        }
    }
    return NULL;
}
