/*
 * The motion of a vehicle whose truth comes from a participant: a plugin that is part of the server, whose state is the
 * span between the last two truths that were given. It cannot be asked about any time. The first two are [loop], the
 * others [tick].
 */
#ifndef SRV_HOST_EXTERNAL_H
#define SRV_HOST_EXTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/host.h"

/* For oto_plugin_wrap. */
const struct oto_plugin_entry *srv_external_entry(void);
/* Whether the plugin is this one. */
bool srv_external_is(const struct oto_plugin *plugin);

/* A truth at the end of tick `to_tick` - 1, valid from `from_tick` on. */
struct srv_external_input {
    uint64_t from_tick, to_tick;
    uint32_t flags; /* OTO_TRUTH_HAS_… of otolith/mailbox.h */
    uint32_t alone; /* 1: it does not go on from the truth before it; ticks up to it are made from it alone */
    struct oto_truth_record truth;
};

/* `from` is the vehicle's truth at the start of the span. */
void srv_external_give(const struct oto_instance *instance, const struct oto_truth_record *from,
                       const struct srv_external_input *input);
/* Ticks that the truth given last holds for: those before this one; 0: none. */
uint64_t srv_external_reach(const struct oto_instance *instance);
/* There is no truth for the ticks to come: steps are discarded until the next is given. */
void srv_external_hold(const struct oto_instance *instance);

#endif
