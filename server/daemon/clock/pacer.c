#include "daemon/clock/pacer.h"

#include "base/wide.h"
#include "otolith/detmath.h"

/* Ticks per real second as a fraction: the scale is rounded to 1e-9, or coarser if the fraction does not fit in 62 bits. */
static void real_rate(const struct srv_pacer *pacer, uint64_t *num, uint64_t *den)
{
    const srv_wide limit = (srv_wide)1 << 62;
    for (double unit = 1e9; unit >= 1.0; unit /= 1e3) {
        const double steps = oto_round_half_away(pacer->scale * unit);
        srv_wide n = (srv_wide)pacer->rate_num * (uint64_t)(steps < 1.0 ? 1.0 : steps);
        srv_wide d = (srv_wide)pacer->rate_den * (uint64_t)unit;
        const srv_wide common = srv_wide_gcd(n, d);
        n /= common;
        d /= common;
        if (n <= limit && d <= limit) {
            *num = (uint64_t)n;
            *den = (uint64_t)d;
            return;
        }
    }
    *num = pacer->rate_num;
    *den = pacer->rate_den;
}

static void make_schedule(struct srv_pacer *pacer)
{
    uint64_t num, den;
    real_rate(pacer, &num, &den);
    srv_schedule_init(&pacer->schedule, num, den);
    if (pacer->schedule.step_ns < 1) {
        pacer->schedule.step_ns = 1;
    }
}

void srv_pacer_init(struct srv_pacer *pacer, const struct srv_clock_config *config)
{
    pacer->policy = config->overrun;
    pacer->max_burst = config->catchup_max_burst;
    pacer->max_lag_ns = config->catchup_max_lag_ns;
    pacer->max_overruns = config->fault_max_overruns;
    pacer->rate_num = config->rate_num;
    pacer->rate_den = config->rate_den;
    pacer->scale = config->scale;
    pacer->anchor_ns = 0;
    pacer->burst = 0;
    pacer->overruns = 0;
    make_schedule(pacer);
}

void srv_pacer_anchor(struct srv_pacer *pacer, int64_t now_ns)
{
    pacer->anchor_ns = now_ns;
    pacer->schedule.n = 0;
    pacer->schedule.t_ns = 0;
    pacer->schedule.rest = 0;
    pacer->burst = 0;
    pacer->overruns = 0;
}

void srv_pacer_set_scale(struct srv_pacer *pacer, double scale, int64_t now_ns)
{
    const int64_t deadline_ns = srv_pacer_deadline_ns(pacer);
    pacer->scale = scale;
    make_schedule(pacer);
    const int64_t soon_ns = now_ns + srv_pacer_period_ns(pacer);
    srv_pacer_anchor(pacer, deadline_ns < soon_ns ? deadline_ns : soon_ns);
}

/* Ends the catch-up and moves the deadline of the next tick to due_ns. Returns the real time that is given up. */
static int64_t slip(struct srv_pacer *pacer, int64_t due_ns)
{
    const int64_t given_up_ns = due_ns - srv_pacer_deadline_ns(pacer);
    const uint32_t overruns = pacer->overruns;
    srv_pacer_anchor(pacer, due_ns);
    pacer->overruns = overruns;
    return given_up_ns;
}

static void catch_up(struct srv_pacer *pacer, int64_t now_ns, struct srv_pace *pace)
{
    if (pace->lateness_ns > pacer->max_lag_ns) {
        pace->slipped_ns = slip(pacer, now_ns);
    } else if (pacer->burst >= pacer->max_burst) {
        /* The next deadline is a whole period away; otherwise the next tick would follow at once and make the burst longer. */
        pace->slipped_ns = slip(pacer, now_ns + srv_pacer_period_ns(pacer));
        pace->run = false;
    } else {
        pacer->burst++;
        pace->catching_up = true;
    }
}

struct srv_pace srv_pacer_plan(struct srv_pacer *pacer, int64_t now_ns)
{
    struct srv_pace pace = {.run = true};
    const int64_t deadline_ns = srv_pacer_deadline_ns(pacer);
    pace.lateness_ns = now_ns - deadline_ns;
    if (pace.lateness_ns < 0) {
        pace.run = false;
        pace.lateness_ns = 0;
    } else if (pace.lateness_ns <= srv_pacer_period_ns(pacer)) {
        pacer->burst = 0;
    } else if (pacer->policy == SRV_OVERRUN_CATCHUP) {
        catch_up(pacer, now_ns, &pace);
    } else if (pacer->policy == SRV_OVERRUN_SLIP) {
        pace.slipped_ns = slip(pacer, now_ns);
    }
    pace.until_ns = srv_pacer_deadline_ns(pacer);
    return pace;
}

enum srv_pacer_verdict srv_pacer_done(struct srv_pacer *pacer, int64_t end_ns)
{
    srv_schedule_advance(&pacer->schedule);
    if (end_ns <= srv_pacer_deadline_ns(pacer)) {
        pacer->overruns = 0;
        return SRV_PACER_OK;
    }
    pacer->overruns++;
    const bool fault = pacer->policy == SRV_OVERRUN_FAULT && pacer->overruns >= pacer->max_overruns;
    return fault ? SRV_PACER_FAULT : SRV_PACER_OVERRUN;
}
