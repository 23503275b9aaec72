/*
 * The motion of a vehicle whose truth comes from a participant: a plugin that is part of the server. Its state is the span
 * between the last two truths of the participant. It cannot be evaluated at any time, only within this span. The first two
 * functions are [loop], the others [tick].
 */
#ifndef SRV_HOST_EXTERNAL_H
#define SRV_HOST_EXTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/host.h"

/* The plugin's entry, for oto_plugin_wrap. */
const struct oto_plugin_entry *srv_external_entry(void);
/* True if the plugin is this motion. */
bool srv_external_is(const struct oto_plugin *plugin);

/* A truth at the end of tick `to_tick` - 1; the span begins at `from_tick`. */
struct srv_external_input {
    uint64_t from_tick, to_tick;
    uint32_t flags; /* OTO_TRUTH_HAS_… of otolith/mailbox.h */
    uint32_t alone; /* 1: it does not continue the previous truth; the span is computed from this truth only */
    struct oto_truth_record truth;
};

/* Gives the motion its next truth. `from` is the vehicle's truth at the start of the span. */
void srv_external_give(const struct oto_instance *instance, const struct oto_truth_record *from,
                       const struct srv_external_input *input);
/* The motion has a truth for ticks before this number; 0: for none. */
uint64_t srv_external_reach(const struct oto_instance *instance);
/* Declares that no truth is available: steps are discarded until srv_external_give. */
void srv_external_hold(const struct oto_instance *instance);

#endif
