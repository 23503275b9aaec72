/*
 * When a tick may start in real time, and what is done about lateness (A2, A4). The wall clock comes in as a number, so
 * that a test can stop it, jump it and run it backwards; what comes out never touches a result, only when it is made.
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
    uint32_t max_burst;    /* catchup: ticks back to back */
    int64_t max_lag_ns;    /* catchup: more than this is given up at once */
    uint32_t max_overruns; /* fault: consecutive */
    uint64_t rate_num, rate_den;
    double scale;
    struct srv_schedule schedule; /* real time of ticks since the anchor */
    int64_t anchor_ns;
    uint32_t burst;
    uint32_t overruns; /* consecutive */
};

/* What to do now. */
struct srv_pace {
    bool run;            /* start the tick; else wait until until_ns and ask again */
    bool catching_up;    /* this tick follows its predecessor to make up for lost time */
    int64_t until_ns;    /* the deadline */
    int64_t lateness_ns; /* run: now - deadline as it was, >= 0 */
    int64_t slipped_ns;  /* time given up by re-anchoring, else 0 */
};

enum srv_pacer_verdict { SRV_PACER_OK = 0, SRV_PACER_OVERRUN = 1, SRV_PACER_FAULT = 2 };

/* scale is within SRV_SCALE_MIN and SRV_SCALE_MAX. Not anchored yet: call srv_pacer_anchor. */
void srv_pacer_init(struct srv_pacer *pacer, const struct srv_clock_config *config);
/* The next tick is due at now_ns: at the start, after a pause, after a change of mode. */
void srv_pacer_anchor(struct srv_pacer *pacer, int64_t now_ns);
/* The next deadline stays, unless a period of the new scale from now is earlier; those after it follow the new scale. */
void srv_pacer_set_scale(struct srv_pacer *pacer, double scale, int64_t now_ns);

struct srv_pace srv_pacer_plan(struct srv_pacer *pacer, int64_t now_ns);
/* The tick that was planned ended at end_ns. */
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
