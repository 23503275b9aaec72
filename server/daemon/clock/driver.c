#include "daemon/clock/driver.h"

#include <string.h>

#include "base/futex.h"

static void wait_uv(struct srv_clock_driver *driver, int64_t deadline_ns, int64_t period_ns)
{
    (void)period_ns;
    srv_waiter_wait(driver->waiter, deadline_ns);
}

static void spin_until(struct srv_spin_budget *budget, int64_t deadline_ns, int64_t now_ns)
{
    const int64_t start_ns = now_ns;
    while (now_ns < deadline_ns) {
        srv_pause();
        now_ns = srv_now_ns();
    }
    srv_spin_used(budget, now_ns - start_ns);
}

static void wait_hybrid(struct srv_clock_driver *driver, int64_t deadline_ns, int64_t period_ns)
{
    int64_t now_ns = srv_now_ns();
    const int64_t lead_ns = srv_spin_lead_ns(&driver->budget, period_ns, now_ns);
    if (lead_ns == 0 || now_ns < deadline_ns - lead_ns) {
        srv_waiter_wait(driver->waiter, deadline_ns - lead_ns);
        if (driver->waiter->woken) {
            return;
        }
        now_ns = srv_now_ns();
    }
    if (lead_ns != 0) {
        spin_until(&driver->budget, deadline_ns, now_ns);
    }
}

void srv_driver_init(struct srv_clock_driver *driver, enum srv_driver kind, struct srv_waiter *waiter)
{
    static const struct srv_driver_ops drivers[] = {
        [SRV_DRIVER_UV] = {"uv", wait_uv},
        [SRV_DRIVER_HYBRID] = {"hybrid", wait_hybrid},
    };
    memset(driver, 0, sizeof *driver);
    driver->ops = &drivers[kind];
    driver->waiter = waiter;
}
