/*
 * otolith-gate: everything of a world that is reached over TLS. It reads the segment as any client does and sends frames to
 * subscribers, and it relays remote control to the control socket. It uses no nng. otolithd starts and restarts it; a
 * failure here cannot affect the simulation (A33).
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "gate/gate.h"

#define SCHEMA_PERIOD_NS 1000000000
#define CONNECTED_PERIOD_NS 20000000 /* subscribers that connect within this time share a schema frame */
#define REPORT_PERIOD_NS 1000000000
#define ALIVE_PERIOD_NS 200000000
#define EACH_TICK_NS 1000000 /* period of the passes if the coalescing time is 0 */

enum { EXIT_BAD_USAGE = 2 };

struct program {
    struct srv_gate_options options;
    struct oto_client *client;
    struct srv_feed *feed; /* NULL: no samples are served */
    struct srv_gate gate;
    int signal_fd;
    int64_t next_pass_ns, next_schema_ns, last_schema_ns, next_report_ns, next_alive_ns;
};

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* ---- reports to the server: lines on standard output ---- */

static void write_line(char *line, size_t room, int length)
{
    const size_t bytes = length < (int)room ? (size_t)length : room - 1;
    line[bytes - 1] = '\n';
    const ssize_t written = write(STDOUT_FILENO, line, bytes);
    (void)written; /* without a reader the parent is dead, and PDEATHSIG ends this process */
}

static void report_endpoint(void *context, uint32_t index, const char *url)
{
    char line[512];
    (void)context;
    write_line(line, sizeof line, snprintf(line, sizeof line, "endpoint %" PRIu32 " %s\n", index, url));
}

static void report_closed(void *context, uint32_t index)
{
    char line[32];
    (void)context;
    write_line(line, sizeof line, snprintf(line, sizeof line, "closed %" PRIu32 "\n", index));
}

static void report_event(void *context, const char *sentence)
{
    const struct program *program = context;
    char line[512];
    if (program->options.parent == 0) {
        (void)fprintf(stderr, "otolith-gate: %s\n", sentence);
        return;
    }
    write_line(line, sizeof line, snprintf(line, sizeof line, "event %s\n", sentence));
}

static void report_alive(struct program *program, int64_t now)
{
    char line[] = "alive\n";
    if (now >= program->next_report_ns) {
        program->next_report_ns = now + REPORT_PERIOD_NS;
        if (program->options.parent != 0) {
            write_line(line, sizeof line, sizeof line - 1);
        }
    }
}

/* ---- start ---- */

static bool take_signals(struct program *program)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    if (program->options.parent != 0) {
        (void)sigdelset(&signals, SIGINT); /* Ctrl-C reaches the whole process group: the server decides when to end */
        (void)sigdelset(&signals, SIGHUP);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    program->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return program->signal_fd >= 0;
}

/* False if the parent has already died. */
static bool follow_parent(pid_t parent)
{
    if (parent == 0) {
        return true;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    return getppid() == parent;
}

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
        .size = sizeof options, .socket_path = program->options.socket_path, .name = "otolith-gate", .role = "observe"};
    const struct srv_gate_reports reports = {program, report_endpoint, report_closed, report_event};
    enum oto_status status = oto_client_open(&options, &program->client, error);
    if (status == OTO_OK && serves_samples(&program->options)) {
        status = srv_feed_create(program->client, program->options.format, program->options.only, sink, &program->gate, &program->feed, error);
    }
    return status == OTO_OK ? srv_gate_open(&program->gate, &program->options, &reports, error) : status;
}

/* ---- running ---- */

static bool is_told_to_end(const struct program *program)
{
    struct signalfd_siginfo facts;
    return read(program->signal_fd, &facts, sizeof facts) == (ssize_t)sizeof facts;
}

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
    program->next_pass_ns = srv_feed_pass(program->feed) ? now : now + period_ns;
    const bool wanted = now - program->last_schema_ns >= CONNECTED_PERIOD_NS && srv_gate_take_connected(&program->gate);
    if (wanted || now >= program->next_schema_ns) {
        srv_feed_schema(program->feed);
        program->last_schema_ns = now;
        program->next_schema_ns = now + SCHEMA_PERIOD_NS;
    }
    srv_gate_push(&program->gate);
}

static void run(struct program *program)
{
    int64_t now = now_ns();
    while (world_is_open(program, now) && !is_told_to_end(program)) {
        const int64_t left_ns = program->feed != NULL ? program->next_pass_ns - now : ALIVE_PERIOD_NS;
        srv_gate_run(&program->gate, program->signal_fd, left_ns > 0 ? left_ns : 0);
        now = now_ns();
        if (program->feed != NULL) {
            pass(program, now);
        }
        report_alive(program, now);
    }
    if (program->feed != NULL) {
        (void)srv_feed_pass(program->feed);
        srv_gate_push(&program->gate);
    }
}

int main(int argc, char **argv)
{
    static struct program program = {.options = {.coalesce_ns = 5000000, .only = "", .files = {.size = sizeof(struct oto_tls_files)}}, .signal_fd = -1};
    srv_gate_options_parse(argc, argv, &program.options);
    if (!take_signals(&program) || !follow_parent(program.options.parent)) {
        return EXIT_FAILURE;
    }
    struct oto_error error = {0};
    const enum oto_status status = open_program(&program, &error);
    if (status == OTO_OK) {
        run(&program);
    } else {
        (void)fprintf(stderr, "otolith-gate: %s\n", error.text);
    }
    srv_gate_close(&program.gate);
    srv_feed_destroy(program.feed);
    oto_client_close(program.client);
    /* Exit code 2 for wrong files or addresses, because a restart would not help. */
    const bool is_hopeless = status == OTO_INVALID || status == OTO_DENIED || status == OTO_NOT_FOUND;
    return status == OTO_OK ? EXIT_SUCCESS : is_hopeless && program.client != NULL ? EXIT_BAD_USAGE : EXIT_FAILURE;
}
