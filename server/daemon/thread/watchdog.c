#include <stdio.h>
#include <string.h>

#include "daemon/thread/engine_private.h"

#define WATCHDOG_LEAST_NS INT64_C(250000000)
#define WATCHDOG_PERIODS 50
#define REPORT_PERIOD_NS INT64_C(10000000000)

static int64_t timeout_ns(const struct srv_engine *engine)
{
    const int64_t periods_ns = WATCHDOG_PERIODS * engine->sim->schedule.step_ns;
    if (engine->options.watchdog_ns > 0) {
        return engine->options.watchdog_ns;
    }
    return periods_ns > WATCHDOG_LEAST_NS ? periods_ns : WATCHDOG_LEAST_NS;
}

/* 1 + index of the node that the tick thread steps, or that a worker steps for which the tick thread waits; 0: none. */
static uint32_t stepping_node(const struct srv_engine *engine)
{
    uint32_t node = __atomic_load_n(&engine->sim->store.header->current_node, __ATOMIC_RELAXED);
    for (uint32_t lane = 1; node == 0 && lane < srv_lanes_count(engine->sim->lanes); lane++) {
        node = srv_lanes_stepping_node(engine->sim->lanes, lane);
    }
    return node;
}

static void describe(const struct srv_engine *engine, uint64_t tick, int64_t stuck_ns, char *sentence, size_t bytes)
{
    const uint32_t breadcrumb = stepping_node(engine);
    const double stuck_s = (double)stuck_ns * 1e-9;
    if (breadcrumb == 0 || breadcrumb > engine->sim->node_count) {
        (void)snprintf(sentence, bytes, "tick %llu has been under way for %.2f s, outside any plugin",
                       (unsigned long long)tick, stuck_s);
        return;
    }
    const struct oto_plugin *plugin = engine->views[breadcrumb - 1].plugin;
    (void)snprintf(sentence, bytes, "node '%s' (plugin %s) has been in its step for %.2f s, in tick %llu",
                   engine->sim->nodes[breadcrumb - 1].topic, oto_plugin_descriptor(plugin)->id, stuck_s,
                   (unsigned long long)tick);
}

/* Posts an event. The tick thread writes it when the stuck step returns; until then only the sentence reports the stall. */
static void post_event(struct srv_engine *engine, int64_t stuck_ns, const char *sentence)
{
    struct srv_command command;
    memset(&command, 0, sizeof command);
    command.kind = SRV_COMMAND_EVENT;
    command.event.kind = OTO_EVENT_WATCHDOG;
    command.event.severity = 2;
    command.event.value = stuck_ns;
    (void)snprintf(command.event.source, sizeof command.event.source, "watchdog");
    (void)snprintf(command.event.text, sizeof command.event.text, "%.150s", sentence);
    (void)srv_engine_post(engine, &command);
}

/* A world that is too large for the machine stalls in each tick: reports once in 10 s, or a stall twice the last reported. */
static bool is_worth_a_report(const struct srv_watchdog *watchdog, int64_t now_ns, int64_t stuck_ns)
{
    return watchdog->report_ns == 0 || now_ns - watchdog->report_ns >= REPORT_PERIOD_NS || stuck_ns >= 2 * watchdog->longest_ns;
}

static void add_unreported(struct srv_watchdog *watchdog, char *sentence, size_t bytes)
{
    const size_t length = strlen(sentence);
    if (watchdog->unreported > 0) {
        (void)snprintf(sentence + length, bytes - length, "; %u other ticks were as long since the last report",
                       watchdog->unreported);
        watchdog->unreported = 0;
    }
}

bool srv_engine_watchdog(struct srv_engine *engine, char *sentence, size_t bytes)
{
    struct srv_watchdog *watchdog = &engine->watchdog;
    const uint64_t tick = __atomic_load_n(&engine->sim->store.header->counter[OTO_COUNTER_TICKS], __ATOMIC_RELAXED);
    const bool working = __atomic_load_n(&engine->working, __ATOMIC_RELAXED) != 0;
    const int64_t now_ns = srv_now_ns();
    if (!working || tick != watchdog->tick || watchdog->since_ns == 0) {
        watchdog->tick = tick;
        watchdog->since_ns = now_ns;
        watchdog->unreported += watchdog->counted && !watchdog->reported;
        watchdog->counted = watchdog->reported = false;
        watchdog->looks = 0;
        return false;
    }
    watchdog->looks++;
    const int64_t stuck_ns = now_ns - watchdog->since_ns;
    if (watchdog->reported || stuck_ns < timeout_ns(engine)) {
        return false;
    }
    if (!watchdog->counted) {
        srv_count(engine->sim, OTO_COUNTER_STALLS, 1);
        watchdog->counted = true;
    }
    if (!is_worth_a_report(watchdog, now_ns, stuck_ns)) {
        return false;
    }
    watchdog->reported = true;
    watchdog->report_ns = now_ns;
    watchdog->longest_ns = stuck_ns;
    describe(engine, tick, stuck_ns, sentence, bytes);
    add_unreported(watchdog, sentence, bytes);
    post_event(engine, stuck_ns, sentence);
    return true;
}

uint32_t srv_engine_stuck_looks(const struct srv_engine *engine)
{
    return engine->watchdog.looks;
}
