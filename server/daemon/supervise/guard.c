#include "daemon/supervise/guard.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/checkpoint/checkpoint_file.h"
#include "daemon/supervise/crash_page.h"

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
    char death[160]; /* how the last server died */
    int64_t crash_s[SRV_GUARD_CRASHES];
    int crashes;
    bool asked_to_end;
    pid_t child;
};

static void say(const char *sentence)
{
    (void)fprintf(stderr, "otolithd: %s\n", sentence);
}

/* ---- the folder of checkpoints ---- */

static bool make_folder(struct guard *guard)
{
    const char *base = getenv("XDG_RUNTIME_DIR");
    (void)snprintf(guard->saves, sizeof guard->saves, "%s/otolith-saves-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
    if (mkdtemp(guard->saves) == NULL) {
        guard->saves[0] = '\0';
        say("no folder for checkpoints can be made; after a crash the world begins anew");
    }
    return guard->saves[0] != '\0';
}

static void remove_folder(const struct guard *guard)
{
    DIR *folder = guard->saves[0] != '\0' ? opendir(guard->saves) : NULL;
    for (struct dirent *entry = folder != NULL ? readdir(folder) : NULL; entry != NULL; entry = readdir(folder)) {
        char path[PATH_MAX + 256];
        (void)snprintf(path, sizeof path, "%s/%s", guard->saves, entry->d_name);
        (void)unlink(path);
    }
    if (folder != NULL) {
        (void)closedir(folder);
        (void)rmdir(guard->saves);
    }
}

/* ---- the child ---- */

/* The newest checkpoint of this run that can be read; NULL: there is none. */
static const char *newest_save(const struct guard *guard)
{
    const uint64_t saves = __atomic_load_n(&guard->page->saves, __ATOMIC_ACQUIRE);
    for (uint64_t back = 1; back <= SRV_CRASH_SAVES && back <= saves; back++) {
        const char *path = guard->page->save[(saves - back) % SRV_CRASH_SAVES];
        struct srv_checkpoint checkpoint;
        struct oto_error error = {0};
        if (srv_checkpoint_read(path, &checkpoint, &error) == OTO_OK) {
            srv_checkpoint_finish(&checkpoint);
            return path;
        }
    }
    return NULL;
}

/* What was asked for, without the supervision, and where to go on. */
static int fill_arguments(struct guard *guard, const char *save, char page[32], char **arguments)
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
    if (save != NULL) {
        arguments[count++] = restore;
        arguments[count++] = (char *)(uintptr_t)save;
    }
    for (int i = 0; i < guard->quarantine_count; i++) {
        arguments[count++] = quarantine;
        arguments[count++] = guard->quarantined[i];
    }
    arguments[count] = NULL;
    return count;
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
    (void)fill_arguments(guard, newest_save(guard), page, arguments);
    guard->page->signal = 0;
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

static void tell(struct guard *guard, int signal)
{
    const struct srv_crash_page *page = guard->page;
    const char *name = sigabbrev_np(signal);
    const bool blamed = page->node[0] != '\0';
    (void)snprintf(guard->death, sizeof guard->death, "the server (pid %ld) died of SIG%s%s%s%s", (long)guard->child,
                   name != NULL ? name : "?", blamed ? " in the step of '" : "", page->node, blamed ? "'" : "");
    (void)fprintf(stderr, "otolithd: %s%s%s%s\n", guard->death, blamed ? ", plugin " : "", page->plugin,
                  blamed ? "; the node is quarantined" : "");
}

static int64_t now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec;
}

/* Whether it is to be started again. */
static bool survive(struct guard *guard, int signal)
{
    tell(guard, signal);
    const int64_t now = now_s();
    guard->crash_s[guard->crashes % SRV_GUARD_CRASHES] = now;
    guard->crashes++;
    /* The place that the next one will take holds the oldest of the last three. */
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

/* The exit code of the whole, or -1: the server runs again. */
static int on_child(struct guard *guard)
{
    int how = 0;
    pid_t ended;
    do {
        ended = waitpid(guard->child, &how, WNOHANG);
    } while (ended < 0 && errno == EINTR);
    if (ended != guard->child) {
        return -1;
    }
    if (WIFEXITED(how)) {
        return WEXITSTATUS(how);
    }
    const int signal = WTERMSIG(how);
    if (guard->asked_to_end || signal == SIGTERM || signal == SIGINT) {
        return 128 + signal;
    }
    return survive(guard, signal) && spawn_child(guard) ? -1 : 128 + signal;
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
        (void)make_folder(guard);
        code = spawn_child(guard) ? watch(guard, &signals) : code;
        remove_folder(guard);
    }
    free(guard);
    return code;
}
