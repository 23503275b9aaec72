/* What the files behind otolith/sim.h share. */
#ifndef SRV_SIM_OTO_SIM_H
#define SRV_SIM_OTO_SIM_H

#include "otolith/sim.h"
#include "sim/sim.h"

/* Truth that the caller gave to a vehicle of a participant. */
struct given_truth {
    bool has_input; /* to be applied before the next tick */
    bool held;      /* it is: no truth */
    bool fresh;     /* nothing was accepted since the start or the last hold */
    uint64_t reach; /* ticks before this one have a truth */
    struct srv_external_input input;
};

struct oto_sim {
    struct srv_world_config config;
    bool no_state_hash;
    struct srv_sim *sim;
    uint64_t last_tick; /* the run ends after so many ticks */
    const struct oto_record_type **types; /* of each channel */
    uint64_t *next;     /* of each channel: seq of the first record that was not read */
    struct given_truth *given; /* of each vehicle */
};

/* Makes a simulator of sim->config as it stands now, at tick 0; the caller drops the previous one. */
enum oto_status oto_sim_make_(const struct oto_sim *owner, oto_warn_function warn, void *warn_context, struct srv_sim **sim,
                              struct oto_error *error);
void oto_sim_drop_(struct srv_sim *sim);
/* Takes another simulator: cursors begin behind its newest records, and no truth is given. */
void oto_sim_take_(struct oto_sim *owner, struct srv_sim *sim);
/* A swap whose options are worked out, as a log has them; for programs that replay a log without a server. */
enum oto_status oto_sim_swap_as_(struct oto_sim *sim, uint32_t index, const char *node, const struct srv_swap_options *options,
                                 struct oto_error *error);

#endif
