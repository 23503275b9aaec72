#include "daemon/clock/spin_budget.h"

int64_t srv_spin_lead_ns(struct srv_spin_budget *budget, int64_t period_ns, int64_t now_ns)
{
    if (now_ns - budget->window_start_ns >= SRV_SPIN_WINDOW_NS || now_ns < budget->window_start_ns) {
        budget->window_start_ns = now_ns;
        budget->used_ns = 0;
        budget->exhausted = false;
    }
    const int64_t share_ns = period_ns / SRV_SPIN_SHARE;
    const int64_t lead_ns = share_ns < SRV_SPIN_LEAD_NS ? share_ns : SRV_SPIN_LEAD_NS;
    budget->exhausted = budget->exhausted || budget->used_ns + lead_ns > SRV_SPIN_WINDOW_NS / SRV_SPIN_SHARE;
    return budget->exhausted ? 0 : lead_ns;
}

void srv_spin_used(struct srv_spin_budget *budget, int64_t spun_ns)
{
    budget->used_ns += spun_ns;
}

bool srv_spin_exhausted_now(struct srv_spin_budget *budget)
{
    const bool first = budget->exhausted && !budget->told;
    budget->told = budget->told || budget->exhausted;
    return first;
}
