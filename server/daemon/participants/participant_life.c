/* Joining and leaving, and the memory of participants. */
#include <stdlib.h>

#include "daemon/thread/engine_private.h"
#include "daemon/participants/participants.h"

/* ---- joining and leaving ---- */

/* A restored state may lie within the ticks that an earlier answer covers: that answer is still valid. */
static void take_span(const struct srv_engine *engine, struct srv_participant *participant)
{
    for (uint32_t i = 0; i < participant->config->vehicle_count; i++) {
        const uint64_t reach = srv_external_reach(&engine->sim->vehicles[participant->vehicles[i]].motion->live.abi);
        participant->reach = i == 0 || reach < participant->reach ? reach : participant->reach;
    }
    participant->from = engine->sim->tick;
}

enum oto_status srv_participant_join(struct srv_engine *engine, struct srv_mailbox *mailbox, const char **reason)
{
    struct srv_participant *participant = &engine->participants.list[mailbox->participant];
    if (participant->mailbox != NULL && !participant->dropped) {
        *reason = "another process takes part under this name";
        return OTO_EXISTS;
    }
    if (!participant->has_been) {
        take_span(engine, participant);
    }
    participant->mailbox = mailbox;
    participant->dropped = false;
    participant->has_been = true;
    participant->lagging = false;
    participant->fresh = true;
    participant->told = false;
    participant->lock = 0;
    participant->seen = 0;
    participant->controls_seen = 0;
    participant->refused = 0;
    participant->late = 0;
    participant->asked_ns = 0;
    if (participant->is_master) { /* it counts its grants from here, and no tick may come before the first of them */
        __atomic_store_n(&mailbox->header->grant.completed, engine->sim->tick, __ATOMIC_RELEASE);
    }
    if (participant->is_waited_for && !srv_participant_covers(participant, engine->sim->tick)) {
        srv_participant_grant(engine, participant);
    }
    srv_participant_say(engine, participant, 0, "joined");
    return OTO_OK;
}

void srv_participant_leave(struct srv_engine *engine, struct srv_mailbox *mailbox)
{
    struct srv_participant *participant = &engine->participants.list[mailbox->participant];
    if (participant->mailbox != mailbox) {
        return;
    }
    const bool asked = srv_participant_is_needed(engine, participant) && !participant->dropped && participant->from == engine->sim->tick;
    if (asked && srv_participant_has_answered(participant)) {
        (void)srv_participant_take_answer(
            engine, participant); /* an answer that was written before the leave counts, even if the leave is processed first */
    }
    participant->mailbox = NULL;
    participant->told = false;
    participant->asked_ns = 0;
    if (participant->is_master) {
        engine->participants.run_until = engine->sim->tick;
    }
    srv_participant_say(engine, participant, participant->dropped ? 0 : 1, "left");
    participant->dropped = false;
}

/* ---- life ---- */

static enum oto_status begin_one(struct srv_engine *engine, uint32_t index, struct oto_error *error)
{
    const struct srv_world_config *config = engine->config;
    struct srv_participant *participant = &engine->participants.list[index];
    participant->config = &config->participants[index];
    participant->index = index;
    participant->is_waited_for = srv_participant_is_waited_for(participant->config);
    participant->is_master = config->clock.master == index + 1;
    participant->vehicles = calloc(participant->config->vehicle_count + 1, sizeof *participant->vehicles);
    participant->inputs = calloc(participant->config->vehicle_count + 1, sizeof *participant->inputs);
    if (participant->vehicles == NULL || participant->inputs == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for participant '%s'", participant->config->name);
    }
    for (uint32_t v = 0, next = 0; v < config->vehicle_count && next < participant->config->vehicle_count; v++) {
        if (config->vehicles[v].participant == index + 1) {
            participant->vehicles[next++] = v;
        }
    }
    return OTO_OK;
}

enum oto_status srv_participants_begin(struct srv_engine *engine, struct oto_error *error)
{
    struct srv_participants *participants = &engine->participants;
    const uint32_t count = engine->config->participant_count;
    enum oto_status status = OTO_OK;
    if (count == 0) {
        return OTO_OK;
    }
    participants->list = calloc(count, sizeof *participants->list);
    if (participants->list == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %u participants", count);
    }
    participants->count = count;
    for (uint32_t p = 0; status == OTO_OK && p < count; p++) {
        status = begin_one(engine, p, error);
    }
    if (engine->config->clock.master != 0) {
        participants->master = &participants->list[engine->config->clock.master - 1];
    }
    return status;
}

void srv_participants_finish(struct srv_engine *engine)
{
    for (uint32_t p = 0; p < engine->participants.count; p++) {
        srv_mailbox_close(engine->participants.list[p].mailbox);
        free(engine->participants.list[p].vehicles);
        free(engine->participants.list[p].inputs);
    }
    free(engine->participants.list);
    engine->participants.list = NULL;
    engine->participants.count = 0;
}
