/*
 * Decides when a tick may start in real time, and what follows from lateness (A2, A4). The real time is an argument, so that
 * a test can stop it, let it jump and run it backwards. The decision changes when a tick is computed, never its result.
 * Pure. [tick]
 */
#ifndef SRV_CLOCK_PACER_H
#define SRV_CLOCK_PACER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/schedule.h"
#include "world/world_config.h"

#define SRV_SCALE_MIN 1e-3
#define SRV_SCALE_MAX 1e6

struct srv_pacer {
    enum srv_overrun policy;
    uint32_t max_burst;    /* policy catchup: most ticks that run back to back */
    int64_t max_lag_ns;    /* policy catchup: a lateness above this slips at once */
    uint32_t max_overruns; /* policy fault: consecutive overruns at which the run faults */
    uint64_t rate_num, rate_den;
    double scale;
    struct srv_schedule schedule; /* deadlines of the ticks, in real time since the anchor */
    int64_t anchor_ns;
    uint32_t burst;
    uint32_t overruns; /* consecutive overruns so far */
};

/* The pacer's decision for the next tick. */
struct srv_pace {
    bool run;            /* true: start the tick; false: wait until until_ns and plan again */
    bool catching_up;    /* this tick follows the previous tick without a pause to reduce the lateness */
    int64_t until_ns;    /* the deadline of the next tick */
    int64_t lateness_ns; /* if `run`: now minus the deadline before a slip, >= 0 */
    int64_t slipped_ns;  /* time by which the deadlines slip, else 0 */
};

enum srv_pacer_verdict { SRV_PACER_OK = 0, SRV_PACER_OVERRUN = 1, SRV_PACER_FAULT = 2 };

/* The scale must be within SRV_SCALE_MIN and SRV_SCALE_MAX. Afterwards call srv_pacer_anchor, which sets the first deadline. */
void srv_pacer_init(struct srv_pacer *pacer, const struct srv_clock_config *config);
/* Sets the next deadline to now_ns. Call it at the start, after a pause and after a change of mode. */
void srv_pacer_anchor(struct srv_pacer *pacer, int64_t now_ns);
/* Keeps the next deadline, or sets it one period of the new scale after now_ns if that is earlier. Later deadlines follow. */
void srv_pacer_set_scale(struct srv_pacer *pacer, double scale, int64_t now_ns);

struct srv_pace srv_pacer_plan(struct srv_pacer *pacer, int64_t now_ns);
/* Call it when the tick that srv_pacer_plan started has ended, at end_ns. */
enum srv_pacer_verdict srv_pacer_done(struct srv_pacer *pacer, int64_t end_ns);

static inline int64_t srv_pacer_deadline_ns(const struct srv_pacer *pacer)
{
    return pacer->anchor_ns + pacer->schedule.t_ns;
}

static inline int64_t srv_pacer_period_ns(const struct srv_pacer *pacer)
{
    return pacer->schedule.step_ns;
}

#endif
