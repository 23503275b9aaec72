/*
 * Limits how long before a deadline the hybrid driver may spin. If a real-time thread spins more than a tenth of a core, the
 * kernel throttles it for tens of milliseconds. Therefore the driver spins at most a tenth of the period, and the time that
 * it spins in each second is counted. Pure. [tick]
 */
#ifndef SRV_CLOCK_SPIN_BUDGET_H
#define SRV_CLOCK_SPIN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#define SRV_SPIN_LEAD_NS 60000
#define SRV_SPIN_WINDOW_NS INT64_C(1000000000)
#define SRV_SPIN_SHARE 10 /* at most one tenth of the time */

struct srv_spin_budget {
    int64_t window_start_ns;
    int64_t used_ns;
    bool exhausted; /* the budget of this second is used up */
    bool told;      /* srv_spin_exhausted_now has reported the first exhaustion */
};

/* Time before the deadline at which sleep ends and spinning begins; 0: the budget of this second is used up, do not spin. */
int64_t srv_spin_lead_ns(struct srv_spin_budget *budget, int64_t period_ns, int64_t now_ns);
void srv_spin_used(struct srv_spin_budget *budget, int64_t spun_ns);
/* Returns true once, when a budget was used up for the first time. */
bool srv_spin_exhausted_now(struct srv_spin_budget *budget);

#endif
