#include "bridge/bridge.h"

#include "base/monotonic.h"

enum { REATTACH_MS = 200 };
#define REPORT_EVERY_NS INT64_C(1000000000)

enum oto_status bridge_attach(struct bridge *bridge, struct oto_error *error)
{
    const struct oto_client_options options = {.size = sizeof options, .world = bridge->world, .name = bridge->program.name, .role = "observe"};
    return oto_client_open(&options, &bridge->client, error);
}

/* Waits for the next run after the end of a run. *more: attached to the next run; false: the program ends. */
static enum oto_status follow(struct bridge *bridge, bool *more, struct oto_error *error)
{
    const int64_t until_ns = srv_now_ns() + bridge->wait_s * 1000000000;
    struct oto_error why = {0};
    *more = false;
    while (!*more && srv_now_ns() < until_ns && !srv_program_must_end(&bridge->program)) {
        *more = oto_client_reattach(bridge->client, REATTACH_MS, &why) == OTO_OK;
    }
    if (!*more) {
        return OTO_OK;
    }
    srv_program_print(&bridge->program, "world '%s' restarted", oto_client_header(bridge->client)->world);
    return bridge->open(bridge->context, error);
}

enum oto_status bridge_run(struct bridge *bridge, struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    bool more = true;
    while (status == OTO_OK && more) {
        const bool is_over = oto_client_run_is_over(bridge->client); /* read before the pass, so that the last pass is complete */
        bridge->pass(bridge->context);
        if (srv_now_ns() >= bridge->report_due_ns) {
            bridge->report_due_ns = srv_now_ns() + REPORT_EVERY_NS;
            bridge->report(bridge->context);
        }
        if (srv_program_must_end(&bridge->program)) {
            more = false;
        } else if (is_over) {
            status = follow(bridge, &more, error);
        } else {
            bridge->wait(bridge->context);
        }
    }
    return status;
}
