/* otolithd: runs a world. See server/README.md. */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "daemon/supervise/crash_page.h"
#include "daemon/supervise/supervisor.h"
#include "daemon/supervise/saves.h"
#include "options.h"
#include "server_private.h"

#define RESTART_ATTEMPTS 20u
#define RESTART_PAUSE_MS 250

static int fail(const struct oto_error *error)
{
    srv_server_say(NULL, error->text);
    return EXIT_FAILURE;
}

static int print_schema(void)
{
    char *schema = srv_world_config_schema();
    if (schema == NULL) {
        return EXIT_FAILURE;
    }
    const int written = fputs(schema, stdout);
    free(schema);
    return written >= 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Errors of the world file were reported where they were found; an error of another kind is reported here. */
static int report_check(struct srv_server *server, enum oto_status loaded, const struct oto_error *error)
{
    struct srv_check_report *report = &server->check_report;
    if (loaded == OTO_OK) {
        return srv_check_report_good(report, &server->config, srv_engine_segment(server->engine)->channel_count);
    }
    if (report->count == 0) {
        srv_check_report_error(report, error);
    }
    return srv_check_report_failed(report);
}

#define MAPPED_BYTES (128 * 1024) /* allocations of this size have a mapping of their own */

/*
 * Keeps the resident set small by one worker thread, two heaps, and a fixed threshold for mappings. glibc would raise it at the
 * first free of a mapping: later runs would then lie in the heaps, which keep the holes that `restore` and `swap` leave.
 * Call it before any thread and any large allocation.
 */
static void be_small(void)
{
    (void)mallopt(M_ARENA_MAX, 2);
    (void)mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES);
    (void)setenv("UV_THREADPOOL_SIZE", "1", 1);
}

/* Waits before the next attempt. False: a signal asks the process to end. Signals are blocked between two runs. */
static bool pause_before_restart(void)
{
    static const struct timespec pause = {.tv_nsec = RESTART_PAUSE_MS * 1000000L};
    sigset_t ends;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGHUP);
    return sigtimedwait(&ends, NULL, &pause) < 0;
}

/*
 * Makes another attempt at a restored run that could not start, for example for lack of a descriptor, because the previous run
 * has ended already. Attempts are made for some seconds. Destroys `failed`. NULL: all attempts failed.
 */
static struct srv_server *make_again(struct srv_server *failed, uint32_t *attempts, struct oto_error *error)
{
    if (*attempts == 0) {
        (void)fprintf(stderr, "otolithd: the restored world cannot start: %s; it is tried again\n", error->text);
    }
    while ((*attempts)++ < RESTART_ATTEMPTS && pause_before_restart()) {
        struct srv_server *next = srv_server_create_again(failed);
        if (next == NULL) {
            break;
        }
        srv_server_destroy(failed);
        failed = next;
        *error = (struct oto_error){0};
        if (srv_server_load_from(next, NULL, error) == OTO_OK) {
            return next;
        }
    }
    srv_late_reply_send(&failed->asked_by, OTO_IO, 0, error->text);
    srv_server_destroy(failed);
    return NULL;
}

/* Runs `server` and then each run that a `restore` makes, and destroys them. Returns the exit code. */
static int run_from(struct srv_server *server, struct oto_error *error)
{
    uint32_t attempts = 0;
    for (;;) {
        const enum oto_status status = srv_server_run(server, error);
        struct srv_server *next = server->next;
        if (status != OTO_OK && server->run > 0) {
            server = make_again(server, &attempts, error);
            if (server == NULL) { /* the crash page has no mark of an end: a supervising parent restarts the world */
                return fail(error);
            }
            continue;
        }
        const int code = status == OTO_OK ? server->exit_code : fail(error);
        if (code != EXIT_SUCCESS || next == NULL) {
            srv_crash_page_ends(server->crash_page);
            srv_server_destroy(next);
            srv_server_destroy(server);
            return code;
        }
        srv_runtime_dir_hand_over(&server->runtime, &next->runtime);
        srv_server_destroy(server);
        server = next;
        attempts = 0;
    }
}

/* Runs the worlds of this process in turn: each `restore` ends one run and starts the next. */
static int run_all(const struct srv_options *options)
{
    struct oto_error error = {0};
    struct srv_server *server = srv_server_create(options, 0);
    const enum oto_status loaded =
        server != NULL ? srv_server_load(server, &error) : oto_fail(&error, OTO_NO_MEMORY, "out of memory");
    if (loaded == OTO_OK && !options->check) {
        return run_from(server, &error);
    }
    const int code = server != NULL && options->check ? report_check(server, loaded, &error) : fail(&error);
    if (server != NULL) {
        srv_crash_page_ends(server->crash_page);
    }
    srv_server_destroy(server);
    return code;
}

/* Whether the command line has the option. The supervising parent looks for a few options: its child parses the line. */
static bool is_given(int argc, char **argv, const char *option)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], option) == 0) {
            return true;
        }
    }
    return false;
}

/* Makes the process end with its parent, the process `pid` (NULL: not known). False: the parent has ended already, or `pid` is none. */
static bool follow_parent(const char *pid)
{
    char *end = NULL;
    const long parent = pid != NULL ? strtol(pid, &end, 10) : (long)getppid();
    if (pid != NULL && (parent <= 0 || *end != '\0')) {
        srv_server_say(NULL, SRV_SUPERVISOR_FOLLOW "=PID needs the id of the process that started this one");
        return false;
    }
    return prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && (long)getppid() == parent;
}

/* A supervising parent follows its own parent, and its child follows it. */
static int supervise(int argc, char **argv, bool check)
{
    const char *pid = NULL;
    for (int i = 1; i < argc; i++) {
        if (srv_supervisor_is_follow(argv[i], &pid) && !follow_parent(pid)) {
            return EXIT_FAILURE;
        }
    }
    return srv_supervise_server(argc, argv, check);
}

int main(int argc, char **argv)
{
    (void)signal(SIGCHLD, SIG_DFL); /* some launchers ignore it, which makes children unwaitable */
    (void)signal(SIGXFSZ, SIG_IGN); /* a file beyond RLIMIT_FSIZE is an error with a sentence (EFBIG) */
    (void)prctl(PR_SET_NAME, "otolithd"); /* a server that its supervisor starts as /proc/self/exe would be named "exe" */
    be_small();
    const bool check = is_given(argc, argv, SRV_SUPERVISOR_CHECK);
    if ((check || is_given(argc, argv, SRV_SUPERVISOR_OPTION)) && !is_given(argc, argv, SRV_SUPERVISOR_PAGE)) {
        return supervise(argc, argv, check);
    }
    struct srv_options options = {0};
    srv_options_parse(argc, argv, &options);
    if (options.schema) {
        return print_schema();
    }
    if (options.keep_plugins != NULL) {
        (void)setenv("OTOLITH_KEEP_PLUGINS", options.keep_plugins, 1);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (options.checkpoint_directory != NULL) {
        srv_saves_hold(options.checkpoint_directory);
    }
    if (options.follow_parent && !follow_parent(options.parent)) {
        return EXIT_FAILURE;
    }
    struct oto_error error = {0};
    if (options.crash_page_fd == 0 && srv_crash_watch_alone(&error) != OTO_OK) {
        return fail(&error);
    }
    const int code = run_all(&options);
    srv_crash_expect_exit();
    return code;
}
