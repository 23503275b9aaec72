/*
 * otolith-gate: everything of a world that is reached over TLS. It reads the segment as any client does and sends frames to
 * subscribers, and it relays remote control to the control socket. It uses no nng. otolithd starts and restarts it; a
 * failure here cannot affect the simulation (A33).
 */
#include <stdlib.h>

#include "base/monotonic.h"
#include "gate/gate.h"
#include "program/program.h"

#define REPORT_PERIOD_NS 1000000000
#define ALIVE_PERIOD_NS 200000000
#define EACH_TICK_NS 1000000 /* period of the passes if the coalescing time is 0 */

struct program {
    struct srv_program base;
    struct srv_gate_options options;
    struct oto_client *client;
    struct srv_feed *feed; /* NULL: no samples are served */
    struct srv_gate gate;
    int64_t next_pass_ns, next_report_ns, next_alive_ns;
};

/* ---- reports to the server ---- */

static void report_event(void *context, const char *sentence)
{
    const struct program *program = context;
    srv_program_event(&program->base, sentence);
}

static void report_alive(struct program *program, int64_t now)
{
    if (now >= program->next_report_ns) {
        program->next_report_ns = now + REPORT_PERIOD_NS;
        if (program->base.parent != 0) {
            srv_program_report("alive");
        }
    }
}

/* ---- start ---- */

static void sink(void *context, const void *data, size_t bytes)
{
    srv_gate_put(context, data, bytes);
}

static bool serves_samples(const struct srv_gate_options *options)
{
    bool any = false;
    for (uint32_t i = 0; i < options->listen_count; i++) {
        any = any || !srv_gate_is_control(options->listen[i]);
    }
    return any;
}

static enum oto_status open_program(struct program *program, struct oto_error *error)
{
    const struct oto_client_options options = {
        .size = sizeof options, .socket_path = program->options.socket_path, .name = program->base.name, .role = "observe"};
    const struct srv_gate_reports reports = {program, srv_program_report_endpoint, srv_program_report_closed, report_event};
    enum oto_status status = oto_client_open(&options, &program->client, error);
    if (status == OTO_OK && serves_samples(&program->options)) {
        status = srv_feed_create(program->client, program->options.format, program->options.only, sink, &program->gate, &program->feed, error);
    }
    return status == OTO_OK ? srv_gate_open(&program->gate, &program->options, &reports, error) : status;
}

/* ---- running ---- */

static bool world_is_open(struct program *program, int64_t now)
{
    if (now < program->next_alive_ns) {
        return true;
    }
    program->next_alive_ns = now + ALIVE_PERIOD_NS;
    const uint32_t state = __atomic_load_n(&oto_client_header(program->client)->state, __ATOMIC_ACQUIRE);
    return state != OTO_SERVER_CLOSING && oto_client_server_alive(program->client);
}

static void pass(struct program *program, int64_t now)
{
    const int64_t period_ns = program->options.coalesce_ns > 0 ? program->options.coalesce_ns : EACH_TICK_NS;
    if (now < program->next_pass_ns) {
        return;
    }
    const bool hurry = srv_feed_serve(program->feed, now, srv_gate_has_subscribers(&program->gate), srv_gate_take_connected(&program->gate));
    program->next_pass_ns = hurry ? now : now + period_ns;
    srv_gate_push(&program->gate);
}

static void run(struct program *program)
{
    int64_t now = srv_now_ns();
    while (world_is_open(program, now) && !srv_program_must_end(&program->base)) {
        const int64_t left_ns = program->feed != NULL ? program->next_pass_ns - now : ALIVE_PERIOD_NS;
        srv_gate_run(&program->gate, program->base.signal_fd, left_ns > 0 ? left_ns : 0);
        now = srv_now_ns();
        if (program->feed != NULL) {
            pass(program, now);
        }
        report_alive(program, now);
    }
    if (program->feed != NULL) {
        (void)srv_feed_pass(program->feed);
        srv_gate_push(&program->gate);
    }
    srv_gate_run(&program->gate, -1, 0); /* relays the replies that came before the end, as that to `shutdown` or `restore` */
}

int main(int argc, char **argv)
{
    static struct program program = {.base.name = "otolith-gate", .options = {.coalesce_ns = 5000000, .only = "", .files = {.size = sizeof(struct oto_tls_files)}}};
    srv_gate_options_parse(argc, argv, &program.options);
    program.base.parent = program.options.parent;
    if (!srv_program_begin(&program.base)) {
        return EXIT_FAILURE;
    }
    struct oto_error error = {0};
    const enum oto_status status = open_program(&program, &error);
    if (status == OTO_OK) {
        run(&program);
    } else {
        srv_program_print(&program.base, "%s", error.text);
    }
    srv_gate_close(&program.gate);
    srv_feed_destroy(program.feed);
    oto_client_close(program.client);
    /* Exit code 2 for wrong files or addresses, because a restart would not help. */
    const bool is_hopeless = status == OTO_INVALID || status == OTO_DENIED || status == OTO_NOT_FOUND;
    return status == OTO_OK ? EXIT_SUCCESS : is_hopeless && program.client != NULL ? SRV_EXIT_USAGE : EXIT_FAILURE;
}
