/* Fills the history of a vehicle whose present motion needs none, for the motion that takes over. [tick] */
#include <string.h>

#include "sim/sim.h"
#include "sim/swap_private.h"

#define FILL_INSTANTS 64u /* instants that are filled at each boundary */

static void fill_one(const struct srv_vehicle *vehicle, struct srv_history *history, uint64_t m)
{
    const struct srv_node *motion = vehicle->motion;
    struct oto_truth_record truth;
    uint64_t rest;
    struct oto_instant at;
    at.t_ns = srv_instant_ns(m, history->rate_num, history->rate_den, &rest);
    at.sub_ns = (double)rest / (double)history->rate_num;
    memset(&truth, 0, sizeof truth);
    const bool known =
        !motion->live.quarantined && motion->live.evaluate(&motion->live.abi, at, &truth) == OTO_STEP_OK;
    srv_history_put(history, m, m == 0 ? &vehicle->truth_zero : known ? &truth : &vehicle->truth);
}

static struct srv_history history_of(const struct srv_sim *sim, const struct srv_change *change)
{
    const struct srv_clock_config *clock = &sim->config->clock;
    const struct srv_history history = {.records = change->history,
                                        .mask = srv_history_capacity(clock->rate_num, clock->rate_den) - 1,
                                        .rate_num = clock->rate_num,
                                        .rate_den = clock->rate_den};
    return history;
}

bool srv_trial_fill(struct srv_sim *sim, struct srv_node *node, struct srv_change *change)
{
    struct srv_vehicle *vehicle = srv_trial_vehicle(sim, node);
    struct srv_history history = history_of(sim, change);
    struct srv_trial *trial = &change->trial;
    srv_history_put(&history, sim->schedule.n, &vehicle->truth);
    const uint64_t first = trial->fill_from;
    const uint64_t second = history.rate_num / history.rate_den + 2;
    const uint64_t least = first < second ? first : second;
    for (uint32_t i = 0; i < FILL_INSTANTS && trial->filled <= least; i++, trial->filled++) {
        const uint64_t m = first - trial->filled;
        if (m + history.mask >= sim->schedule.n) { /* otherwise a newer truth has its slot by now */
            fill_one(vehicle, &history, m);
        }
    }
    if (trial->filled <= least) {
        return false;
    }
    vehicle->history = history;
    change->history = NULL;
    return true;
}
