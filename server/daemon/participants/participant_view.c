/* Facts about participants for the main thread: the configuration alone determines them. */
#include <string.h>

#include "document/document.h"
#include "daemon/thread/engine_private.h"

uint32_t srv_engine_participant_find(const struct srv_engine *engine, const char *name, struct oto_error *error)
{
    const struct srv_world_config *config = engine->config;
    const char *candidates[SRV_MAX_PARTICIPANTS];
    for (uint32_t i = 0; i < config->participant_count; i++) {
        candidates[i] = config->participants[i].name;
        if (strcmp(name, candidates[i]) == 0) {
            return i;
        }
    }
    const char *nearest = oto_nearest_word(name, candidates, config->participant_count);
    if (config->participant_count == 0) {
        (void)oto_fail(error, OTO_NOT_FOUND, "world '%s' has no participants: a vehicle with `motion: {participant: "
                       "NAME}` or an entry of `participants` is needed", config->name);
    } else if (nearest != NULL) {
        (void)oto_fail(error, OTO_NOT_FOUND, "there is no participant '%.64s'; did you mean '%s'?", name, nearest);
    } else {
        (void)oto_fail(error, OTO_NOT_FOUND, "there is no participant '%.64s'; '%s' is one", name, candidates[0]);
    }
    return UINT32_MAX;
}

const struct srv_participant_config *srv_engine_participant_config(const struct srv_engine *engine,
                                                                   uint32_t participant)
{
    return &engine->config->participants[participant];
}

enum oto_status srv_engine_mailbox_create(const struct srv_engine *engine, const struct srv_join *join,
                                          struct srv_mailbox **mailbox, struct oto_error *error)
{
    return srv_mailbox_create(engine->config, engine->options.epoch, join, mailbox, error);
}
