#include "daemon/supervise/supervisor.h"

#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/monotonic.h"
#include "daemon/supervise/crash_page.h"
#include "daemon/supervise/saves.h"

extern char **environ;

#define MORE_ARGUMENTS (16 + 2 * SRV_SUPERVISOR_QUARANTINE)

struct supervisor {
    int argc;
    char **argv;
    bool check; /* the child is a check: it is not restarted */
    struct srv_crash_page *page;
    int page_fd;
    char saves[PATH_MAX]; /* folder for checkpoints of a world without `checkpoint:` */
    char quarantined[SRV_SUPERVISOR_QUARANTINE][sizeof((struct srv_crash_page *)0)->node];
    int quarantine_count;
    char death[256]; /* how the last server died */
    int64_t crash_s[SRV_SUPERVISOR_CRASHES];
    int crashes;
    char *save; /* checkpoint in the crash page that the child continues from; NULL: it starts from the beginning */
    bool asked_to_end;
    pid_t child;
};

static void say(const char *sentence)
{
    (void)fprintf(stderr, "otolithd: %s\n", sentence);
}

/* ---- the child ---- */

/* The newest checkpoint of this run that has not failed to restore; NULL: there is none. */
static char *newest_save(const struct supervisor *supervisor)
{
    const uint64_t saves = __atomic_load_n(&supervisor->page->saves, __ATOMIC_ACQUIRE);
    for (uint64_t back = 1; back <= SRV_CRASH_SAVES && back <= saves; back++) {
        char *path = supervisor->page->save[(saves - back) % SRV_CRASH_SAVES];
        if (path[0] != '\0') {
            return path;
        }
    }
    return NULL;
}

bool srv_supervisor_is_follow(const char *argument, const char **pid)
{
    const size_t length = strlen(SRV_SUPERVISOR_FOLLOW);
    if (strncmp(argument, SRV_SUPERVISOR_FOLLOW, length) != 0 || (argument[length] != '=' && argument[length] != '\0')) {
        return false;
    }
    *pid = argument[length] == '=' ? argument + length + 1 : NULL;
    return true;
}

/* Fills the child's arguments: the command line without --supervise, and the checkpoint to continue from. The child follows this process. */
static void fill_arguments(struct supervisor *supervisor, char page[32], char follow[32], char **arguments)
{
    static char crash_page[] = SRV_SUPERVISOR_PAGE, folder[] = "--checkpoint-directory", restore[] = "--restore",
                quarantine[] = "--quarantine", again[] = "--again";
    int count = 0;
    for (int i = 0; i < supervisor->argc; i++) {
        const char *pid = NULL;
        if (strcmp(supervisor->argv[i], SRV_SUPERVISOR_OPTION) != 0) {
            arguments[count++] = srv_supervisor_is_follow(supervisor->argv[i], &pid) ? follow : supervisor->argv[i];
        }
    }
    (void)snprintf(page, 32, "%d", supervisor->page_fd);
    (void)snprintf(follow, 32, SRV_SUPERVISOR_FOLLOW "=%ld", (long)getpid());
    arguments[count++] = crash_page;
    arguments[count++] = page;
    if (supervisor->saves[0] != '\0') {
        arguments[count++] = folder;
        arguments[count++] = supervisor->saves;
    }
    if (supervisor->crashes > 0) {
        arguments[count++] = again;
        arguments[count++] = supervisor->death;
    }
    if (supervisor->save != NULL) {
        arguments[count++] = restore;
        arguments[count++] = supervisor->save;
    }
    for (int i = 0; i < supervisor->quarantine_count; i++) {
        arguments[count++] = quarantine;
        arguments[count++] = supervisor->quarantined[i];
    }
    arguments[count] = NULL;
}

static bool spawn_child(struct supervisor *supervisor)
{
    char page[32], follow[32];
    posix_spawnattr_t attributes;
    sigset_t none;
    char **arguments = calloc((size_t)supervisor->argc + MORE_ARGUMENTS, sizeof *arguments);
    if (arguments == NULL) {
        say("the server cannot be started: out of memory");
        return false;
    }
    supervisor->save = newest_save(supervisor);
    fill_arguments(supervisor, page, follow, arguments);
    supervisor->page->signal = 0;
    supervisor->page->stage = SRV_CRASH_STAGE_NONE;
    supervisor->page->node[0] = supervisor->page->plugin[0] = '\0';
    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int failure = posix_spawn(&supervisor->child, "/proc/self/exe", NULL, &attributes, arguments, environ);
    (void)posix_spawnattr_destroy(&attributes);
    free(arguments);
    if (failure != 0) {
        supervisor->child = 0;
        (void)fprintf(stderr, "otolithd: the server cannot be started: %s\n", strerror(failure));
    }
    return failure == 0;
}

/* ---- when it ends ---- */

static void describe(const siginfo_t *end, char *text, size_t bytes)
{
    if (end->si_code == CLD_EXITED) {
        (void)snprintf(text, bytes, "ended with code %d and not in order", end->si_status);
    } else {
        const char *name = sigabbrev_np(end->si_status);
        (void)snprintf(text, bytes, "died of SIG%s", name != NULL ? name : "?");
    }
}

static void tell(struct supervisor *supervisor, const siginfo_t *end)
{
    const struct srv_crash_page *page = supervisor->page;
    const bool blamed = page->node[0] != '\0';
    char how[48];
    describe(end, how, sizeof how);
    (void)snprintf(supervisor->death, sizeof supervisor->death, "the %s (pid %ld) %s%s%s%s",
                   supervisor->check ? "check" : "server", (long)supervisor->child, how,
                   blamed                                   ? " in the step of '"
                   : page->stage == SRV_CRASH_STAGE_LOADING ? " while it loaded the world"
                                                            : "",
                   page->node, blamed ? "'" : "");
    (void)fprintf(stderr, "otolithd: %s%s%s%s\n", supervisor->death, blamed ? ", plugin " : "", page->plugin,
                  blamed              ? "; the node is quarantined"
                  : supervisor->check ? ": the file of a plugin is damaged, or its code is"
                                      : "");
}

/* If the child never served from its checkpoint, drops it: the next child uses an older one, and finally the beginning. */
static bool drop_save(struct supervisor *supervisor)
{
    if (supervisor->save == NULL || supervisor->page->stage == SRV_CRASH_STAGE_SERVING) {
        return false;
    }
    char failed[SRV_CRASH_PATH_BYTES];
    (void)snprintf(failed, sizeof failed, "%s", supervisor->save);
    supervisor->save[0] = '\0';
    (void)fprintf(stderr, "otolithd: the checkpoint '%s' cannot be restored; %s\n", failed,
                  newest_save(supervisor) != NULL ? "an older one is tried" : "the world starts from the beginning");
    return true;
}

/* Handles a crash of the server. Returns whether to restart the server. */
static bool survive(struct supervisor *supervisor, const siginfo_t *end)
{
    tell(supervisor, end);
    if (supervisor->check) {
        return false;
    }
    (void)drop_save(supervisor);
    const int64_t now = srv_now_ns() / 1000000000;
    supervisor->crash_s[supervisor->crashes % SRV_SUPERVISOR_CRASHES] = now;
    supervisor->crashes++;
    /* The slot for the next crash holds the time of the oldest of the last three crashes. */
    if (supervisor->crashes >= SRV_SUPERVISOR_CRASHES &&
        now - supervisor->crash_s[supervisor->crashes % SRV_SUPERVISOR_CRASHES] < SRV_GUARD_WINDOW_S) {
        say("that was the third time within a minute: it stays down");
        return false;
    }
    if (supervisor->page->node[0] != '\0' && supervisor->quarantine_count < SRV_SUPERVISOR_QUARANTINE) {
        (void)snprintf(supervisor->quarantined[supervisor->quarantine_count++], sizeof supervisor->quarantined[0], "%s",
                       supervisor->page->node);
    }
    return true;
}

static int exit_code(const siginfo_t *end)
{
    return end->si_code != CLD_EXITED ? 128 + end->si_status : end->si_status != 0 ? end->si_status : EXIT_FAILURE;
}

/*
 * Whether the child ended in order. Before a child maps the crash page, it exits only because of a wrong command line. Later
 * an orderly end leaves a mark in the page: without the mark a plugin, or the loader of libraries, ended the process.
 */
static bool ended_in_order(const struct supervisor *supervisor, const siginfo_t *end)
{
    return end->si_code == CLD_EXITED &&
           (supervisor->page->stage == SRV_CRASH_STAGE_NONE || supervisor->page->stage == SRV_CRASH_STAGE_ENDED ||
            supervisor->page->stage == SRV_CRASH_STAGE_FAILED);
}

/* A server that still loads its world has nothing to end in order: the signal that was passed on to it ends it. */
static bool ended_while_loading(const struct supervisor *supervisor, const siginfo_t *end)
{
    const uint32_t stage = supervisor->page->stage;
    return supervisor->asked_to_end && !supervisor->check && end->si_code == CLD_KILLED &&
           (end->si_status == SIGTERM || end->si_status == SIGINT || end->si_status == SIGHUP) &&
           (stage == SRV_CRASH_STAGE_NONE || stage == SRV_CRASH_STAGE_LOADING);
}

/* Returns the exit code when the supervision ends; -1: the server still runs or was restarted. */
static int on_child(struct supervisor *supervisor)
{
    siginfo_t end;
    if (!srv_child_has_ended(supervisor->child, &end)) {
        return -1;
    }
    if (ended_while_loading(supervisor, &end)) {
        return EXIT_SUCCESS;
    }
    const bool by_order = end.si_code != CLD_EXITED && (end.si_status == SIGTERM || end.si_status == SIGINT);
    if (supervisor->asked_to_end || by_order) {
        return end.si_code == CLD_EXITED ? end.si_status : exit_code(&end);
    }
    if (ended_in_order(supervisor, &end)) {
        const bool again = supervisor->page->stage == SRV_CRASH_STAGE_FAILED && drop_save(supervisor);
        return again && spawn_child(supervisor) ? -1 : end.si_status;
    }
    const bool restarted = survive(supervisor, &end) && spawn_child(supervisor);
    return restarted ? -1 : supervisor->check ? EXIT_FAILURE : exit_code(&end);
}

static int watch(struct supervisor *supervisor, const sigset_t *signals)
{
    int code = -1;
    while (code < 0) {
        siginfo_t facts;
        const int signal = sigwaitinfo(signals, &facts);
        if (signal == SIGCHLD) {
            code = on_child(supervisor);
        } else if (signal > 0) {
            supervisor->asked_to_end = true;
            (void)kill(supervisor->child, signal);
        }
    }
    return code;
}

int srv_supervise_server(int argc, char **argv, bool check)
{
    struct supervisor *supervisor = calloc(1, sizeof *supervisor);
    struct oto_error error = {0};
    sigset_t signals;
    int code = EXIT_FAILURE;
    if (supervisor == NULL) {
        say("out of memory");
        return code;
    }
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    supervisor->argc = argc;
    supervisor->argv = argv;
    supervisor->check = check;
    supervisor->page_fd = srv_crash_page_make(&supervisor->page, &error);
    if (supervisor->page_fd < 0) {
        say(error.text);
    } else {
        if (!check && !srv_saves_make(supervisor->saves, sizeof supervisor->saves)) {
            say("no folder for checkpoints can be made; after a crash the world starts from the beginning");
        }
        code = spawn_child(supervisor) ? watch(supervisor, &signals) : code;
        srv_saves_remove(supervisor->saves);
    }
    free(supervisor);
    return code;
}
