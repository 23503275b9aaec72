/* Shared by the files that implement otolith/sim.h. */
#ifndef SRV_SIM_OTO_SIM_H
#define SRV_SIM_OTO_SIM_H

#include "otolith/sim.h"
#include "sim/sim.h"

/* The truth that the caller gave for a vehicle that the caller moves. */
struct given_truth {
    bool has_input; /* the next tick must apply `input` or `held` */
    bool held;      /* the caller gave NULL: the vehicle holds its last truth */
    bool fresh;     /* no truth was accepted since the start or the last hold */
    uint64_t reach; /* ticks before this number have a truth */
    struct srv_external_input input;
};

struct oto_sim {
    struct srv_world_config config;
    bool no_state_hash;
    struct srv_sim *sim;
    uint64_t last_tick; /* the run ends after this number of ticks */
    const struct oto_record_type **types; /* of each channel */
    uint64_t *next;     /* for each channel: seq of the first record that was not read */
    struct given_truth *given; /* of each vehicle */
};

/* Makes a simulator from owner->config at tick 0. The caller frees the previous simulator. */
enum oto_status oto_sim_make_(const struct oto_sim *owner, oto_warn_function warn, void *warn_context, struct srv_sim **sim,
                              struct oto_error *error);
void oto_sim_drop_(struct srv_sim *sim);
/*
 * Makes `sim` the simulator of `owner`: reading continues after its newest records, and no vehicle has a truth from the
 * caller.
 */
void oto_sim_take_(struct oto_sim *owner, struct srv_sim *sim);
/* Makes a swap with the complete options that a log records; for programs that replay a log without a server. */
enum oto_status oto_sim_swap_as_(struct oto_sim *sim, uint32_t index, const char *node, const struct srv_swap_options *options,
                                 struct oto_error *error);

#endif
