#include "publish/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/child.h"

#define PAUSE_MOST_NS INT64_C(2000000000)
#define KILL_AFTER_MS 3000 /* a second is shorter than the stalls of a busy virtual machine, and the gate may have an answer to relay */
#define SILENCE_FIRST_MS 10000 /* nng 1.5.2 can hang: a program that is silent for this time is killed; its successor may be
                              * silent twice as long */
#define EXIT_USAGE 2 /* exit code for wrong arguments: a restart would not help */
#define ARGUMENTS_MAX (SRV_SUPERVISOR_ARGUMENTS + 4 + 2 * SRV_SUPERVISOR_ENDPOINTS)
#define URL_BYTES 256

struct srv_supervisor {
    uv_loop_t *loop;
    struct srv_supervisor_hooks hooks;
    char name[32]; /* name of the program */
    char program[512];
    char directory[128];
    char *arguments[SRV_SUPERVISOR_ARGUMENTS]; /* owned; the last is NULL */
    const char *endpoint_option;
    uint32_t endpoint_count;
    char endpoints[SRV_SUPERVISOR_ENDPOINTS][URL_BYTES];
    bool listens[SRV_SUPERVISOR_ENDPOINTS]; /* the program listens there now */
    bool closed[SRV_SUPERVISOR_ENDPOINTS]; /* the program cannot listen there */
    bool hopeless;                         /* the program cannot start */
    uv_timer_t timer; /* one timer: the back-off, the wait for the next report, or the wait before SIGKILL */
    uv_poll_t exit_poll, text_poll;
    bool text_open;
    int pid_fd, text_fd;
    pid_t pid;
    uint64_t started_ms, restarts;
    int64_t pause_ns; /* before the last restart */
    uint64_t silence_ms;
    bool stopping;
    char line[512];
    size_t line_bytes;
};

static const struct srv_back_off back_off = {.first_ns = INT64_C(50000000), .most_ns = PAUSE_MOST_NS};

static void spawn_or_retry(struct srv_supervisor *supervisor);
static void await_word(struct srv_supervisor *supervisor);

/*
 * ---- reports of the program ----------------------------------------------------------------------------------------
 */

static void on_line(struct srv_supervisor *supervisor, const char *line)
{
    char *url;
    if (!supervisor->stopping) {
        await_word(supervisor);
    }
    if (strncmp(line, "endpoint ", 9) == 0) {
        const unsigned long index = strtoul(line + 9, &url, 10);
        if (index < supervisor->endpoint_count && *url == ' ' && supervisor->pid != 0) { /* not the last word of a dead program */
            char *known = supervisor->endpoints[index];
            const bool is_new = strcmp(known, url + 1) != 0, listened = supervisor->listens[index];
            supervisor->closed[index] = false;
            supervisor->listens[index] = true;
            (void)snprintf(known, URL_BYTES, "%s", url + 1);
            if (is_new || !listened) {
                supervisor->hooks.endpoints_changed(supervisor->hooks.context, is_new);
            }
        }
    } else if (strncmp(line, "closed ", 7) == 0) {
        const unsigned long index = strtoul(line + 7, NULL, 10);
        if (index < supervisor->endpoint_count) {
            const bool listened = supervisor->listens[index];
            supervisor->closed[index] = true;
            supervisor->listens[index] = false;
            if (listened) {
                supervisor->hooks.endpoints_changed(supervisor->hooks.context, false);
            }
        }
    } else if (strncmp(line, "event ", 6) == 0) {
        supervisor->hooks.event(supervisor->hooks.context, supervisor->name, 1, supervisor->pid, line + 6);
    }
}

static void take_text(struct srv_supervisor *supervisor, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\n') {
            supervisor->line[supervisor->line_bytes] = 0;
            supervisor->line_bytes = 0;
            on_line(supervisor, supervisor->line);
        } else if (supervisor->line_bytes + 1 < sizeof supervisor->line) {
            supervisor->line[supervisor->line_bytes++] = text[i];
        }
    }
}

static void on_text_closed(uv_handle_t *handle)
{
    struct srv_supervisor *supervisor = handle->data;
    (void)close(supervisor->text_fd);
    supervisor->text_fd = -1;
    spawn_or_retry(supervisor);
}

static void close_text(struct srv_supervisor *supervisor)
{
    if (supervisor->text_open) {
        supervisor->text_open = false;
        uv_close((uv_handle_t *)&supervisor->text_poll, on_text_closed);
    } else { /* no poll handle is open, because its start failed */
        (void)close(supervisor->text_fd);
        supervisor->text_fd = -1;
        spawn_or_retry(supervisor);
    }
}

static void on_text(uv_poll_t *poll, int status, int events)
{
    struct srv_supervisor *supervisor = poll->data;
    (void)events;
    char text[512];
    const ssize_t got = status < 0 ? 0 : read(supervisor->text_fd, text, sizeof text);
    if (got > 0) {
        take_text(supervisor, text, (size_t)got);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        (void)uv_poll_stop(poll); /* the program will exit; then the handle is closed */
    }
}

/*
 * ---- exit ----------------------------------------------------------------------------------------------------------
 */

static void describe_exit(const char *name, const siginfo_t *facts, char *sentence, size_t bytes)
{
    if (facts->si_code == CLD_EXITED) {
        (void)snprintf(sentence, bytes, "%s (pid %ld) ended with code %d", name, (long)facts->si_pid,
                       facts->si_status);
    } else if (facts->si_code != 0) {
        (void)snprintf(sentence, bytes, "%s (pid %ld) was killed by signal %d", name, (long)facts->si_pid,
                       facts->si_status);
    } else {
        (void)snprintf(sentence, bytes, "%s (pid %ld) ended; its exit status is unknown", name, (long)facts->si_pid);
    }
}

static void after_pause(uv_timer_t *timer)
{
    spawn_or_retry(timer->data);
}

static void plan_restart(struct srv_supervisor *supervisor, const siginfo_t *facts)
{
    char sentence[152];
    describe_exit(supervisor->name, facts, sentence, sizeof sentence);
    supervisor->hooks.event(supervisor->hooks.context, supervisor->name, 1, facts->si_pid, sentence);
    if (facts->si_code == CLD_EXITED && facts->si_status == EXIT_USAGE) {
        (void)snprintf(sentence, sizeof sentence, "%s cannot start: see its message; it is not restarted", supervisor->name);
        supervisor->hooks.event(supervisor->hooks.context, supervisor->name, 2, 0, sentence);
        supervisor->stopping = supervisor->hopeless = true;
        return;
    }
    const int64_t lived_ns = (int64_t)(uv_now(supervisor->loop) - supervisor->started_ms) * 1000000;
    supervisor->pause_ns = srv_back_off_next(back_off, supervisor->pause_ns, lived_ns);
    (void)uv_timer_start(&supervisor->timer, after_pause, (uint64_t)supervisor->pause_ns / 1000000, 0);
}

static void on_exit_closed(uv_handle_t *handle)
{
    struct srv_supervisor *supervisor = handle->data;
    (void)close(supervisor->pid_fd);
    supervisor->pid_fd = -1;
    close_text(supervisor);
}

static void on_exit_ready(uv_poll_t *poll, int status, int events)
{
    struct srv_supervisor *supervisor = poll->data;
    (void)status;
    (void)events;
    siginfo_t facts;
    if (!srv_child_has_ended(supervisor->pid, &facts)) {
        return;
    }
    supervisor->pid = 0;
    memset(supervisor->listens, 0, sizeof supervisor->listens);
    supervisor->hooks.endpoints_changed(supervisor->hooks.context, false);
    uv_close((uv_handle_t *)poll, on_exit_closed);
    if (supervisor->stopping) {
        (void)uv_timer_stop(&supervisor->timer);
        if (!uv_is_closing((uv_handle_t *)&supervisor->timer)) {
            uv_close((uv_handle_t *)&supervisor->timer, NULL);
        }
    } else {
        plan_restart(supervisor, &facts);
    }
}

/*
 * ---- start ---------------------------------------------------------------------------------------------------------
 */

static void fill_arguments(const struct srv_supervisor *supervisor, char **arguments, char room[2][160])
{
    size_t count = 0;
    (void)snprintf(room[0], sizeof room[0], "--socket=%s/control.sock", supervisor->directory);
    (void)snprintf(room[1], sizeof room[1], "--parent=%ld", (long)getpid());
    arguments[count++] = (char *)(uintptr_t)supervisor->program;
    arguments[count++] = room[0];
    arguments[count++] = room[1];
    for (size_t i = 0; supervisor->arguments[i] != NULL; i++) {
        arguments[count++] = supervisor->arguments[i];
    }
    for (uint32_t i = 0; supervisor->endpoint_option != NULL && i < supervisor->endpoint_count; i++) {
        arguments[count++] = (char *)(uintptr_t)supervisor->endpoint_option;
        arguments[count++] = (char *)(uintptr_t)supervisor->endpoints[i];
    }
    arguments[count] = NULL;
}

static int spawn(struct srv_supervisor *supervisor, int text_fd)
{
    char room[2][160];
    char *arguments[ARGUMENTS_MAX];
    fill_arguments(supervisor, arguments, room);
    const struct srv_child_options options = {
        .program = supervisor->program, .arguments = arguments, .out_fd = text_fd, .passed_fd = -1};
    return srv_child_start(&options, &supervisor->pid);
}

/*
 * Waits for the program's exit and its reports. Returns 0 or an errno. A program whose reports cannot be read is killed, and
 * restarts as after any exit.
 */
static int watch(struct srv_supervisor *supervisor)
{
    supervisor->pid_fd = pidfd_open(supervisor->pid, 0);
    if (supervisor->pid_fd < 0) {
        return errno;
    }
    const int failed = uv_poll_init(supervisor->loop, &supervisor->exit_poll, supervisor->pid_fd);
    if (failed != 0) {
        (void)close(supervisor->pid_fd);
        supervisor->pid_fd = -1;
        return -failed;
    }
    (void)uv_poll_start(&supervisor->exit_poll, UV_READABLE, on_exit_ready);
    if (uv_poll_init(supervisor->loop, &supervisor->text_poll, supervisor->text_fd) == 0) {
        supervisor->text_open = true;
        (void)uv_poll_start(&supervisor->text_poll, UV_READABLE | UV_DISCONNECT, on_text);
    } else {
        (void)kill(supervisor->pid, SIGKILL);
    }
    return 0;
}

static enum oto_status start(struct srv_supervisor *supervisor, struct oto_error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return oto_fail(error, OTO_IO, "%s cannot be started: %s", supervisor->name, strerror(errno));
    }
    const int unborn = spawn(supervisor, ends[1]);
    (void)close(ends[1]);
    supervisor->text_fd = ends[0];
    supervisor->line_bytes = 0;
    supervisor->started_ms = uv_now(supervisor->loop);
    const int unwatched = unborn == 0 ? watch(supervisor) : 0;
    if (unborn == 0 && unwatched == 0) {
        return OTO_OK;
    }
    if (unborn == 0) {
        srv_child_kill(supervisor->pid);
    }
    supervisor->pid = 0;
    (void)close(ends[0]);
    supervisor->text_fd = -1;
    return oto_fail(error, OTO_IO, "%s cannot be %s: %s", supervisor->program,
                    unborn != 0 ? "started" : "watched", strerror(unborn != 0 ? unborn : unwatched));
}

static void on_mute(uv_timer_t *timer)
{
    struct srv_supervisor *supervisor = timer->data;
    if (supervisor->text_open) { /* libuv runs timers before it reads: a late loop has reports to read first */
        on_text(&supervisor->text_poll, 0, UV_READABLE);
    }
    if (supervisor->pid != 0 && !uv_is_active((const uv_handle_t *)timer)) {
        char sentence[96];
        supervisor->silence_ms *= 2;
        (void)snprintf(sentence, sizeof sentence, "%s does not report any more and is killed", supervisor->name);
        supervisor->hooks.event(supervisor->hooks.context, supervisor->name, 1, supervisor->pid, sentence);
        (void)kill(supervisor->pid, SIGKILL);
    }
}

static void await_word(struct srv_supervisor *supervisor)
{
    (void)uv_timer_start(&supervisor->timer, on_mute, supervisor->silence_ms, 0);
}

/* Called at the end of the back-off and after the old handles are closed; the later of the two calls starts the program. */
static void spawn_or_retry(struct srv_supervisor *supervisor)
{
    if (supervisor->stopping || supervisor->pid != 0 || supervisor->text_fd >= 0 || supervisor->pid_fd >= 0 ||
        uv_is_active((const uv_handle_t *)&supervisor->timer)) {
        return;
    }
    struct oto_error error = {0};
    supervisor->restarts++;
    supervisor->hooks.restarted(supervisor->hooks.context);
    if (start(supervisor, &error) != OTO_OK) {
        supervisor->hooks.event(supervisor->hooks.context, supervisor->name, 2, 0, error.text);
        (void)uv_timer_start(&supervisor->timer, after_pause, PAUSE_MOST_NS / 1000000, 0);
        return;
    }
    await_word(supervisor);
    char sentence[152];
    (void)snprintf(sentence, sizeof sentence, "%s restarted (pid %ld)", supervisor->name, (long)supervisor->pid);
    supervisor->hooks.event(supervisor->hooks.context, supervisor->name, 0, (int64_t)supervisor->restarts, sentence);
}

/*
 * ---- supervision ---------------------------------------------------------------------------------------------------
 */

static bool copy_options(struct srv_supervisor *supervisor, const struct srv_supervisor_options *options)
{
    (void)snprintf(supervisor->name, sizeof supervisor->name, "%s", options->program);
    supervisor->endpoint_option = options->endpoint_option;
    supervisor->endpoint_count = options->endpoint_count;
    for (uint32_t i = 0; i < options->endpoint_count; i++) {
        if (strcmp(options->endpoints[i], "ipc") == 0) {
            (void)snprintf(supervisor->endpoints[i], URL_BYTES, "ipc://%s/pub.ipc", supervisor->directory);
        } else {
            (void)snprintf(supervisor->endpoints[i], URL_BYTES, "%s", options->endpoints[i]);
        }
    }
    for (uint32_t i = 0; i + 1 < SRV_SUPERVISOR_ARGUMENTS && options->arguments[i] != NULL; i++) {
        supervisor->arguments[i] = strdup(options->arguments[i]);
        if (supervisor->arguments[i] == NULL) {
            return false;
        }
    }
    return true;
}

enum oto_status srv_supervisor_start(uv_loop_t *loop, const struct srv_supervisor_options *options, const char *directory,
                                     const struct srv_supervisor_hooks *hooks, struct srv_supervisor **supervisor,
                                     struct oto_error *error)
{
    struct srv_supervisor *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "out of memory for %s", options->program);
    }
    if (!srv_beside_program(options->program, made->program, sizeof made->program)) {
        const int reason = errno;
        free(made);
        return oto_fail(error, OTO_NOT_FOUND, "%s is not found beside otolithd: %s", options->program, strerror(reason));
    }
    made->loop = loop;
    made->hooks = *hooks;
    made->pid_fd = made->text_fd = -1;
    made->silence_ms = SILENCE_FIRST_MS;
    made->timer.data = made->exit_poll.data = made->text_poll.data = made;
    (void)snprintf(made->directory, sizeof made->directory, "%s", directory);
    enum oto_status status = OTO_OK;
    if (!copy_options(made, options)) {
        status = oto_fail(error, OTO_NO_MEMORY, "out of memory for %s", options->program);
    } else {
        status = start(made, error);
    }
    if (status != OTO_OK) {
        srv_supervisor_destroy(made);
        return status;
    }
    (void)uv_timer_init(loop, &made->timer);
    await_word(made);
    *supervisor = made;
    return OTO_OK;
}

static void on_kill(uv_timer_t *timer)
{
    struct srv_supervisor *supervisor = timer->data;
    if (supervisor->pid != 0) {
        (void)kill(supervisor->pid, SIGKILL);
    }
}

void srv_supervisor_stop(struct srv_supervisor *supervisor)
{
    supervisor->stopping = true;
    if (supervisor->pid != 0) {
        (void)kill(supervisor->pid, SIGTERM);
        (void)uv_timer_start(&supervisor->timer, on_kill, KILL_AFTER_MS, 0);
    } else if (!uv_is_closing((uv_handle_t *)&supervisor->timer)) {
        uv_close((uv_handle_t *)&supervisor->timer, NULL);
    }
}

void srv_supervisor_destroy(struct srv_supervisor *supervisor)
{
    for (uint32_t i = 0; supervisor != NULL && supervisor->arguments[i] != NULL; i++) {
        free(supervisor->arguments[i]);
    }
    free(supervisor);
}

pid_t srv_supervisor_pid(const struct srv_supervisor *supervisor)
{
    return supervisor->pid;
}

uint64_t srv_supervisor_restarts(const struct srv_supervisor *supervisor)
{
    return supervisor->restarts;
}

bool srv_supervisor_serves(const struct srv_supervisor *supervisor)
{
    bool serves = !supervisor->hopeless;
    for (uint32_t i = 0; i < supervisor->endpoint_count; i++) {
        serves = serves && !supervisor->closed[i];
    }
    return serves;
}

uint32_t srv_supervisor_endpoint_count(const struct srv_supervisor *supervisor)
{
    return supervisor->endpoint_count;
}

const char *srv_supervisor_endpoint(const struct srv_supervisor *supervisor, uint32_t index)
{
    return supervisor->endpoints[index];
}

bool srv_supervisor_listens(const struct srv_supervisor *supervisor, uint32_t index)
{
    return supervisor->listens[index];
}
