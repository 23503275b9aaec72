#include "world/binder.h"

#include <stdlib.h>

#include "world/section.h"

static enum oto_status add(struct srv_binder *binder, const struct oto_value *place,
                           struct srv_participant_config **added)
{
    struct srv_world_config *config = binder->config;
    if (config->participant_count == SRV_MAX_PARTICIPANTS)
        return oto_value_fail(place, binder->error, OTO_LIMIT, "more than %d participants, the most that is accepted",
                              SRV_MAX_PARTICIPANTS);
    struct srv_participant_config *list =
        realloc(config->participants, (config->participant_count + 1) * sizeof(struct srv_participant_config));
    if (list == NULL)
        return oto_value_fail(place, binder->error, OTO_NO_MEMORY, "out of memory");
    config->participants = list;
    *added = &list[config->participant_count++];
    **added = (struct srv_participant_config){.place = place};
    srv_section_defaults(&srv_section_participant, *added);
    return OTO_OK;
}

static struct srv_participant_config *find(const struct srv_world_config *config, const char *name)
{
    for (uint32_t i = 0; i < config->participant_count; i++)
        if (strcmp(config->participants[i].name, name) == 0)
            return &config->participants[i];
    return NULL;
}

enum oto_status srv_participant_named(struct srv_binder *binder, const struct oto_value *name,
                                      enum oto_participant_role role, uint32_t *number)
{
    struct srv_participant_config *participant = find(binder->config, name->text);
    enum oto_status status = OTO_OK;
    if (participant == NULL)
        status = add(binder, name, &participant);
    if (status == OTO_OK && participant->name[0] == '\0') {
        const struct srv_key key = {.name = name->key, .form = SRV_FORM_NAME, .bytes = sizeof participant->name};
        status = srv_form_readers[SRV_FORM_NAME](&key, name, participant->name, binder->error);
    }
    if (status != OTO_OK)
        return status;
    if (participant->role == 0)
        participant->role = role;
    *number = 1 + (uint32_t)(participant - binder->config->participants);
    return OTO_OK;
}

static enum oto_status load_declared(struct srv_binder *binder, const struct oto_value *map)
{
    struct srv_participant_config *participant = NULL;
    enum oto_status status = add(binder, map, &participant);
    if (status == OTO_OK)
        status = srv_section_read_all(&srv_section_participant, map, participant, &binder->problems);
    return status;
}

static enum oto_status check_names(struct srv_binder *binder)
{
    const struct srv_world_config *config = binder->config;
    struct srv_named names[SRV_MAX_PARTICIPANTS];
    for (uint32_t i = 0; i < config->participant_count; i++)
        names[i] = (struct srv_named){config->participants[i].name, oto_value_get(config->participants[i].place, "name")};
    return srv_check_unique(names, config->participant_count, "participants", binder->error);
}

enum oto_status srv_load_participants(struct srv_binder *binder, const struct srv_raw_world *raw)
{
    const uint32_t problems = binder->problems.count;
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; srv_binder_goes_on(binder, status) && raw->participants != NULL && i < raw->participants->count; i++)
        status = load_declared(binder, raw->participants->items[i]);
    status = srv_binder_result(binder, problems, status);
    return status == OTO_OK ? check_names(binder) : status;
}

/* Checks that each role fits its use, and that each mode has the participants it needs. */
static enum oto_status check_role(struct srv_binder *binder, struct srv_participant_config *participant)
{
    const bool owns = participant->vehicle_count > 0;
    if (participant->role == 0)
        participant->role = owns ? OTO_ROLE_PHYSICS : OTO_ROLE_CONTROLLER;
    if (participant->role == OTO_ROLE_PHYSICS && !owns)
        return oto_value_fail(participant->place, binder->error, OTO_INVALID,
                              "participant '%s' has the role physics, but no vehicle has `motion: {participant: %s}`",
                              participant->name, participant->name);
    if (participant->role == OTO_ROLE_CONTROLLER && owns)
        return oto_value_fail(participant->place, binder->error, OTO_INVALID,
                              "participant '%s' has the role controller, but gives the truth of a vehicle: remove the role, or write physics",
                              participant->name);
    return OTO_OK;
}

enum oto_status srv_check_participants(struct srv_binder *binder, const struct srv_raw_world *raw)
{
    struct srv_world_config *config = binder->config;
    enum oto_status status = OTO_OK;
    bool waited_for = false;
    if (raw->master != NULL)
        status = srv_participant_named(binder, raw->master, OTO_ROLE_MASTER, &config->clock.master);
    for (uint32_t i = 0; status == OTO_OK && i < config->participant_count; i++) {
        status = check_role(binder, &config->participants[i]);
        waited_for = waited_for || srv_participant_is_waited_for(&config->participants[i]);
    }
    const struct oto_value *clock = oto_value_get(oto_document_root(config->document), "clock");
    const struct oto_value *mode = clock != NULL ? oto_value_get(clock, "mode") : NULL;
    if (status == OTO_OK && config->clock.mode == OTO_MODE_EXTERNAL && config->clock.master == 0)
        return oto_value_fail(mode, binder->error, OTO_INVALID,
                              "mode external needs `master`, the name of the participant that drives the clock");
    if (status == OTO_OK && config->clock.mode == OTO_MODE_LOCKSTEP && !waited_for)
        return oto_value_fail(mode, binder->error, OTO_INVALID,
                              "mode lockstep needs a participant: a vehicle with `motion: {participant: NAME}`, or a "
                              "controller under `participants`");
    return status;
}
