#include "base/schedule.h"

#include "base/wide.h"

enum oto_status srv_rate_check(const char *what, uint64_t num, uint64_t den, struct oto_error *error)
{
    if (num == 0 || den == 0 || num > SRV_RATE_MAX_TERM || den > SRV_RATE_MAX_TERM) {
        return oto_fail(error, OTO_RANGE, "%s is %llu/%llu Hz; a fraction of whole numbers from 1 to 2^40 is accepted",
                        what, (unsigned long long)num, (unsigned long long)den);
    }
    if (num / den > (uint64_t)SRV_NS_PER_S || den / num > SRV_PERIOD_MAX_S) {
        return oto_fail(error, OTO_RANGE, "%s is %llu/%llu Hz; from 1/%u Hz to 1 GHz is accepted", what,
                        (unsigned long long)num, (unsigned long long)den, SRV_PERIOD_MAX_S);
    }
    return OTO_OK;
}

int64_t srv_instant_ns(uint64_t n, uint64_t num, uint64_t den, uint64_t *rest)
{
    const srv_wide product = (srv_wide)n * (uint64_t)SRV_NS_PER_S * den;
    if (rest != NULL) {
        *rest = (uint64_t)(product % num);
    }
    return (int64_t)(product / num);
}

uint64_t srv_events_until(int64_t t_ns, uint64_t num, uint64_t den)
{
    if (t_ns <= 0) {
        return 0;
    }
    const srv_wide unit = (srv_wide)(uint64_t)SRV_NS_PER_S * den;
    return (uint64_t)(((srv_wide)(uint64_t)t_ns * num + unit - 1) / unit);
}

void srv_schedule_init(struct srv_schedule *schedule, uint64_t num, uint64_t den)
{
    const srv_wide step = (srv_wide)(uint64_t)SRV_NS_PER_S * den;
    schedule->n = 0;
    schedule->t_ns = 0;
    schedule->rest = 0;
    schedule->num = num;
    schedule->step_ns = (int64_t)(step / num);
    schedule->step_rest = (uint64_t)(step % num);
}

void srv_schedule_jump(struct srv_schedule *schedule, uint64_t n)
{
    const srv_wide rest = (srv_wide)n * schedule->step_rest;
    schedule->n = n;
    schedule->t_ns = (int64_t)(n * (uint64_t)schedule->step_ns + (uint64_t)(rest / schedule->num));
    schedule->rest = (uint64_t)(rest % schedule->num);
}

void srv_due_jump(struct srv_due *due, uint64_t n)
{
    const srv_wide rest = (srv_wide)n * due->step_rest;
    due->ticks = n * due->step_ticks + (uint64_t)(rest / due->unit);
    due->rest = (uint64_t)(rest % due->unit);
}

enum oto_status srv_due_init(struct srv_due *due, uint64_t rate_num, uint64_t rate_den, uint64_t base_num,
                             uint64_t base_den, struct oto_error *error)
{
    srv_wide ticks = (srv_wide)base_num * rate_den; /* a sample is due once in every ticks/unit ticks */
    srv_wide unit = (srv_wide)base_den * rate_num;
    const srv_wide common = srv_wide_gcd(ticks, unit);
    ticks /= common;
    unit /= common;
    if (unit > (UINT64_C(1) << 62) || ticks / unit > (UINT64_C(1) << 62)) {
        return oto_fail(error, OTO_RANGE,
                        "%llu/%llu Hz on a base of %llu/%llu Hz: the two have no common grid that fits 64 bits; simpler "
                        "fractions are accepted",
                        (unsigned long long)rate_num, (unsigned long long)rate_den, (unsigned long long)base_num,
                        (unsigned long long)base_den);
    }
    due->unit = (uint64_t)unit;
    due->step_ticks = (uint64_t)(ticks / unit);
    due->step_rest = (uint64_t)(ticks % unit);
    due->ticks = due->step_ticks;
    due->rest = due->step_rest;
    return OTO_OK;
}
