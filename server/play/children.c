#include "play/children.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/child.h"
#include "base/monotonic.h"
#include "program/program.h"


/* Starts a child with the arguments after its name; its reports go to `out`, or nowhere (-1). */
static void start(struct srv_play_child *child, char **arguments, int out)
{
    char path[PATH_MAX];
    child->started_ns = srv_now_ns();
    if (!srv_beside_program(child->program, path, sizeof path) || access(path, X_OK) != 0) {
        child->program = NULL; /* this build has no such program: the playback goes on without it */
        return;
    }
    arguments[0] = path;
    (void)srv_child_start(&(struct srv_child_options){.program = path, .arguments = arguments, .out_fd = out, .passed_fd = -1},
                          &child->pid);
}

static void start_publisher(struct srv_play_children *children)
{
    char socket[128], ipc[160], parent[32], listen_option[] = "--listen";
    char *arguments[6 + 2 * SRV_PLAY_LISTEN_MAX] = {NULL, socket, listen_option, ipc, parent};
    uint32_t count = 5;
    (void)snprintf(socket, sizeof socket, "--socket=%s/control.sock", children->directory);
    (void)snprintf(ipc, sizeof ipc, "ipc://%s/pub.ipc", children->directory);
    (void)snprintf(parent, sizeof parent, "--parent=%ld", (long)getpid());
    for (uint32_t i = 0; i < children->listen_count; i++) {
        arguments[count++] = listen_option;
        arguments[count++] = (char *)(uintptr_t)children->listen[i];
    }
    start(&children->publisher, arguments, -1);
}

static void close_reports(struct srv_play_child *child)
{
    if (child->report_fd >= 0) {
        (void)close(child->report_fd);
        child->report_fd = -1;
    }
}

static void start_page(struct srv_play_children *children)
{
    char socket[128], parent[32];
    char *arguments[] = {NULL, socket, parent, NULL};
    int ends[2];
    (void)snprintf(socket, sizeof socket, "--socket=%s/control.sock", children->directory);
    (void)snprintf(parent, sizeof parent, "--parent=%ld", (long)getpid());
    close_reports(&children->page);
    children->line_bytes = 0;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        children->page.started_ns = srv_now_ns();
        return;
    }
    (void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
    children->page.report_fd = ends[0];
    start(&children->page, arguments, ends[1]);
    (void)close(ends[1]);
}

/* Reaps the child if it has ended, and starts it again after a pause. A publisher ends with its run, also after a seek.
 */
static void keep(struct srv_play_children *children, struct srv_play_child *child,
                 void (*begin)(struct srv_play_children *))
{
    static const struct srv_back_off back_off = {.first_ns = INT64_C(50000000), .most_ns = INT64_C(2000000000)};
    siginfo_t facts = {0};
    if (child->program == NULL) {
        return;
    }
    if (child->pid > 0 && srv_child_has_ended(child->pid, &facts)) {
        child->pid = 0;
        child->pause_ns = srv_back_off_next(back_off, child->pause_ns, srv_now_ns() - child->started_ns);
        if (facts.si_code == CLD_EXITED && facts.si_status == SRV_EXIT_USAGE) {
            child->program = NULL; /* it has said why, and would say it again */
        }
    }
    if (child->pid == 0 && child->program != NULL &&
        (child->started_ns == 0 || srv_now_ns() - child->started_ns > child->pause_ns)) {
        begin(children);
    }
}

/* Takes the link from "endpoint 0 LINK"; other lines are not for a player. */
static bool take_line(struct srv_play_children *children)
{
    static const char endpoint[] = "endpoint 0 ";
    const size_t skipped = sizeof endpoint - 1;
    if (strncmp(children->line, endpoint, skipped) != 0 || strcmp(children->line + skipped, children->link) == 0) {
        return false;
    }
    (void)snprintf(children->link, sizeof children->link, "%.*s", (int)sizeof children->link - 1,
                   children->line + skipped);
    return true;
}

static bool read_reports(struct srv_play_children *children)
{
    bool changed = false;
    char byte;
    while (children->page.report_fd >= 0 && read(children->page.report_fd, &byte, 1) == 1) {
        if (byte == '\n') {
            children->line[children->line_bytes] = '\0';
            children->line_bytes = 0;
            changed = take_line(children) || changed;
        } else if (children->line_bytes < sizeof children->line - 1) {
            children->line[children->line_bytes++] = byte;
        }
    }
    return changed;
}

bool srv_play_children_keep(struct srv_play_children *children)
{
    keep(children, &children->publisher, start_publisher);
    keep(children, &children->page, start_page);
    return read_reports(children);
}

static void stop(const struct srv_play_child *child)
{
    if (child->pid > 0) {
        (void)kill(child->pid, SIGTERM);
        (void)waitpid(child->pid, NULL, 0);
    }
}

void srv_play_children_stop(struct srv_play_children *children)
{
    stop(&children->publisher);
    stop(&children->page);
    close_reports(&children->page);
}
