#include "daemon/supervise/guard.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "daemon/supervise/crash_page.h"
#include "daemon/supervise/saves.h"

extern char **environ;

#define MORE_ARGUMENTS (16 + 2 * SRV_GUARD_QUARANTINE)

struct guard {
    int argc;
    char **argv;
    struct srv_crash_page *page;
    int page_fd;
    char saves[PATH_MAX]; /* folder of the checkpoints of worlds that ask for none */
    char quarantined[SRV_GUARD_QUARANTINE][sizeof((struct srv_crash_page *)0)->node];
    int quarantine_count;
    char death[256]; /* how the last server died */
    int64_t crash_s[SRV_GUARD_CRASHES];
    int crashes;
    char *save; /* the slot of the page that the child continues from; NULL: it starts from the beginning */
    bool asked_to_end;
    pid_t child;
};

static void say(const char *sentence)
{
    (void)fprintf(stderr, "otolithd: %s\n", sentence);
}

/* ---- the child ---- */

/* The newest checkpoint of this run that has not failed to restore; NULL: there is none. */
static char *newest_save(const struct guard *guard)
{
    const uint64_t saves = __atomic_load_n(&guard->page->saves, __ATOMIC_ACQUIRE);
    for (uint64_t back = 1; back <= SRV_CRASH_SAVES && back <= saves; back++) {
        char *path = guard->page->save[(saves - back) % SRV_CRASH_SAVES];
        if (path[0] != '\0') {
            return path;
        }
    }
    return NULL;
}

/* The given arguments without the supervision, and the checkpoint to continue from. */
static void fill_arguments(struct guard *guard, char page[32], char **arguments)
{
    static char crash_page[] = "--crash-page", folder[] = "--checkpoint-directory", restore[] = "--restore",
                quarantine[] = "--quarantine", again[] = "--again";
    int count = 0;
    for (int i = 0; i < guard->argc; i++) {
        if (strcmp(guard->argv[i], SRV_GUARD_OPTION) != 0) {
            arguments[count++] = guard->argv[i];
        }
    }
    (void)snprintf(page, 32, "%d", guard->page_fd);
    arguments[count++] = crash_page;
    arguments[count++] = page;
    if (guard->saves[0] != '\0') {
        arguments[count++] = folder;
        arguments[count++] = guard->saves;
    }
    if (guard->crashes > 0) {
        arguments[count++] = again;
        arguments[count++] = guard->death;
    }
    if (guard->save != NULL) {
        arguments[count++] = restore;
        arguments[count++] = guard->save;
    }
    for (int i = 0; i < guard->quarantine_count; i++) {
        arguments[count++] = quarantine;
        arguments[count++] = guard->quarantined[i];
    }
    arguments[count] = NULL;
}

static bool spawn_child(struct guard *guard)
{
    char page[32];
    posix_spawnattr_t attributes;
    sigset_t none;
    char **arguments = calloc((size_t)guard->argc + MORE_ARGUMENTS, sizeof *arguments);
    if (arguments == NULL) {
        say("the server cannot be started: out of memory");
        return false;
    }
    guard->save = newest_save(guard);
    fill_arguments(guard, page, arguments);
    guard->page->signal = 0;
    guard->page->stage = SRV_CRASH_STAGE_NONE;
    guard->page->node[0] = guard->page->plugin[0] = '\0';
    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    const int failure = posix_spawn(&guard->child, "/proc/self/exe", NULL, &attributes, arguments, environ);
    (void)posix_spawnattr_destroy(&attributes);
    free(arguments);
    if (failure != 0) {
        guard->child = 0;
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

static void tell(struct guard *guard, const siginfo_t *end)
{
    const struct srv_crash_page *page = guard->page;
    const bool blamed = page->node[0] != '\0';
    char how[48];
    describe(end, how, sizeof how);
    (void)snprintf(guard->death, sizeof guard->death, "the server (pid %ld) %s%s%s%s", (long)guard->child, how,
                   blamed ? " in the step of '" : "", page->node, blamed ? "'" : "");
    (void)fprintf(stderr, "otolithd: %s%s%s%s\n", guard->death, blamed ? ", plugin " : "", page->plugin,
                  blamed ? "; the node is quarantined" : "");
}

static int64_t now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec;
}

/* A child that never served from its checkpoint: the next one continues from an older one, at last from the beginning. */
static bool drop_save(struct guard *guard)
{
    if (guard->save == NULL || guard->page->stage == SRV_CRASH_STAGE_SERVING) {
        return false;
    }
    char failed[SRV_CRASH_PATH_BYTES];
    (void)snprintf(failed, sizeof failed, "%s", guard->save);
    guard->save[0] = '\0';
    (void)fprintf(stderr, "otolithd: the checkpoint '%s' cannot be restored; %s\n", failed,
                  newest_save(guard) != NULL ? "an older one is tried" : "the world starts from the beginning");
    return true;
}

/* Whether to restart it. */
static bool survive(struct guard *guard, const siginfo_t *end)
{
    tell(guard, end);
    (void)drop_save(guard);
    const int64_t now = now_s();
    guard->crash_s[guard->crashes % SRV_GUARD_CRASHES] = now;
    guard->crashes++;
    /* The slot of the next crash holds the oldest of the last three. */
    if (guard->crashes >= SRV_GUARD_CRASHES &&
        now - guard->crash_s[guard->crashes % SRV_GUARD_CRASHES] < SRV_GUARD_WINDOW_S) {
        say("that was the third time within a minute: it stays down");
        return false;
    }
    if (guard->page->node[0] != '\0' && guard->quarantine_count < SRV_GUARD_QUARANTINE) {
        (void)snprintf(guard->quarantined[guard->quarantine_count++], sizeof guard->quarantined[0], "%s",
                       guard->page->node);
    }
    return true;
}

static int exit_code(const siginfo_t *end)
{
    return end->si_code != CLD_EXITED ? 128 + end->si_status : end->si_status != 0 ? end->si_status : EXIT_FAILURE;
}

/*
 * Before it maps the page a child fails for its command line alone. Later it marks an orderly end: without the mark a
 * plugin, or the loader of libraries, ended the process.
 */
static bool ended_in_order(const struct guard *guard, const siginfo_t *end)
{
    return end->si_code == CLD_EXITED &&
           (guard->page->stage == SRV_CRASH_STAGE_NONE || guard->page->stage == SRV_CRASH_STAGE_ENDED ||
            guard->page->stage == SRV_CRASH_STAGE_FAILED);
}

/* The exit code of the whole, or -1: the server runs again. */
static int on_child(struct guard *guard)
{
    siginfo_t end;
    if (!srv_child_has_ended(guard->child, &end)) {
        return -1;
    }
    const bool by_order = end.si_code != CLD_EXITED && (end.si_status == SIGTERM || end.si_status == SIGINT);
    if (guard->asked_to_end || by_order) {
        return end.si_code == CLD_EXITED ? end.si_status : exit_code(&end);
    }
    if (ended_in_order(guard, &end)) {
        const bool again = guard->page->stage == SRV_CRASH_STAGE_FAILED && drop_save(guard);
        return again && spawn_child(guard) ? -1 : end.si_status;
    }
    return survive(guard, &end) && spawn_child(guard) ? -1 : exit_code(&end);
}

static int watch(struct guard *guard, const sigset_t *signals)
{
    int code = -1;
    while (code < 0) {
        siginfo_t facts;
        const int signal = sigwaitinfo(signals, &facts);
        if (signal == SIGCHLD) {
            code = on_child(guard);
        } else if (signal > 0) {
            guard->asked_to_end = true;
            (void)kill(guard->child, signal);
        }
    }
    return code;
}

int srv_guard(int argc, char **argv)
{
    struct guard *guard = calloc(1, sizeof *guard);
    struct oto_error error = {0};
    sigset_t signals;
    int code = EXIT_FAILURE;
    if (guard == NULL) {
        say("out of memory");
        return code;
    }
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGCHLD);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigaddset(&signals, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    guard->argc = argc;
    guard->argv = argv;
    guard->page_fd = srv_crash_page_make(&guard->page, &error);
    if (guard->page_fd < 0) {
        say(error.text);
    } else {
        if (!srv_saves_make(guard->saves, sizeof guard->saves)) {
            say("no folder for checkpoints can be made; after a crash the world starts from the beginning");
        }
        code = spawn_child(guard) ? watch(guard, &signals) : code;
        srv_saves_remove(guard->saves);
    }
    free(guard);
    return code;
}
