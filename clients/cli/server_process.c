#include "server_process.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/monotonic.h"

#define START_NOTICE_S 20 /* a start or restart of the server that takes longer is mentioned */
#define START_LIMIT_S 600
#define POLL_MS 5                           /* between checks whether the server has ended */
#define ENDING_LIMIT_NS INT64_C(90000000000) /* longer than the server gives its own end, with a minute for a checkpoint on a busy disk */

/* In a process group of its own: Ctrl-C reaches `otolith run` alone, which stops the world in order. */
enum oto_status server_start(struct server_process *server, char **arguments, struct oto_error *error)
{
    char program[PATH_MAX];
    const enum oto_status status = cli_sibling("otolithd", program, sizeof program, error);
    if (status != OTO_OK) {
        return status;
    }
    arguments[0] = program;
    const int failure = srv_child_start(
        &(struct srv_child_options){.program = program, .arguments = arguments, .inherits = true, .passed_fd = -1, .own_group = true},
        &server->pid);
    if (failure != 0) {
        return oto_fail(error, OTO_IO, "%s: cannot be started: %s", program, strerror(failure));
    }
    return OTO_OK;
}

bool server_ended(struct server_process *server)
{
    siginfo_t how;
    if (server->pid == 0) {
        return true;
    }
    if (!srv_child_has_ended(server->pid, &how)) {
        return false;
    }
    server->pid = 0;
    server->exit_code = how.si_code == CLD_EXITED ? how.si_status : how.si_code != 0 ? 128 + how.si_status : EXIT_FAILURE;
    return true;
}

static void rest(int64_t ns)
{
    const struct timespec pause = {ns / 1000000000, ns % 1000000000};
    (void)nanosleep(&pause, NULL);
}

/* True if the process `writer` is the process that was started, or its child: a server under a server supervisor. */
static bool is_of(const struct server_process *server, uint32_t writer)
{
    char path[64], line[256];
    long parent = 0;
    if (writer == (uint32_t)server->pid) {
        return true;
    }
    (void)snprintf(path, sizeof path, "/proc/%u/status", writer);
    FILE *status = fopen(path, "re");
    while (status != NULL && fgets(line, sizeof line, status) != NULL && sscanf(line, "PPid: %ld", &parent) != 1) {
    }
    if (status != NULL) {
        (void)fclose(status);
    }
    return parent == (long)server->pid;
}

struct start {
    int64_t begun_ns;
    bool told;
};

/* Whether the server is still to be waited for. A large world or a busy machine needs long; a plugin that never returns is given up. */
static bool may_start(struct server_process *server, struct start *start, struct oto_error *error)
{
    if (cli_interrupted() || server_ended(server)) {
        return false;
    }
    const int64_t waited_s = (srv_now_ns() - start->begun_ns) / 1000000000;
    if (!start->told && waited_s >= START_NOTICE_S) {
        start->told = true;
        cli_print_line(stderr, "otolith: the server has been loading the world for %d s; Ctrl-C ends it", START_NOTICE_S);
    }
    if (waited_s >= START_LIMIT_S) {
        (void)oto_fail(error, OTO_TIMEOUT, "the server did not finish loading the world within %d s: a plugin may not return", START_LIMIT_S);
        return false;
    }
    return true;
}

struct oto_client *server_attach(struct server_process *server, const char *world, struct oto_error *error)
{
    struct start start = {.begun_ns = srv_now_ns()};
    while (may_start(server, &start, error)) {
        struct oto_client_options options = {.size = sizeof options, .world = world, .name = "otolith run"};
        struct oto_client *client = NULL;
        if (oto_client_open(&options, &client, error) == OTO_OK) {
            /* A running world of the same name may answer, before the new server ends because of the conflict. */
            if (oto_client_server_alive(client) && is_of(server, oto_client_header(client)->writer_pid)) {
                return client;
            }
            oto_client_close(client);
        }
        rest(2000000);
    }
    return NULL;
}

enum oto_status server_reattach(struct server_process *server, struct oto_client *client, struct oto_error *error)
{
    struct start start = {.begun_ns = srv_now_ns()};
    while (may_start(server, &start, error)) {
        const enum oto_status status = oto_client_reattach(client, POLL_MS, error);
        if (status == OTO_OK && !is_of(server, oto_client_header(client)->writer_pid)) {
            return oto_fail(error, OTO_CONFLICT, "another server has taken the name of world '%s'",
                            oto_client_header(client)->world);
        }
        if (status != OTO_TIMEOUT) {
            return status;
        }
    }
    return cli_interrupted() || server_ended(server) ? OTO_CLOSED : OTO_TIMEOUT;
}

void server_stop(struct server_process *server)
{
    static const struct {
        int signal;
        int64_t timeout_ns;
    } steps[] = {{0, ENDING_LIMIT_NS}, {SIGTERM, INT64_C(5000000000)}, {SIGKILL, INT64_C(5000000000)}};
    bool terminated = false;
    for (size_t i = server->is_ending ? 0 : 1; i < sizeof steps / sizeof *steps && !server_ended(server); i++) {
        if (steps[i].signal != 0) {
            (void)kill(server->pid, steps[i].signal);
            terminated = true;
        }
        const int64_t deadline_ns = srv_now_ns() + steps[i].timeout_ns;
        while (!server_ended(server) && srv_now_ns() < deadline_ns) {
            rest(2000000);
        }
    }
    if (terminated && server->exit_code == 128 + SIGTERM) {
        server->exit_code = 0;
    }
}
