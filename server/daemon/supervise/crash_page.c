#include "daemon/supervise/crash_page.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/sealed_memory.h"
#include "daemon/thread/exit_trap.h"

/* A signal handler gets no argument of the program: therefore this is the only mutable global. */
static struct {
    struct srv_crash_page *page;
    const struct srv_engine *engine;
    bool expects_exit;            /* the server ends in order, and no exit handler objects */
    struct srv_crash_page alone;  /* the page of a server without a supervising parent */
} watched;

static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};

int srv_crash_page_make(struct srv_crash_page **page, struct oto_error *error)
{
    int fd;
    void *memory = srv_memory_share("otolith-crash", sizeof **page, &fd);
    if (memory == NULL) {
        (void)oto_fail(error, OTO_NO_MEMORY, "no memory to be shared with the server: %s", strerror(errno));
        return -1;
    }
    (void)fcntl(fd, F_SETFD, 0); /* the server inherits it */
    *page = memory;
    (*page)->magic = SRV_CRASH_PAGE_MAGIC;
    return fd;
}

struct srv_crash_page *srv_crash_page_map(int fd, struct oto_error *error)
{
    struct stat facts;
    struct srv_crash_page *page = MAP_FAILED;
    if (fstat(fd, &facts) == 0 && facts.st_size == (off_t)sizeof *page) {
        (void)fcntl(fd, F_SETFD, FD_CLOEXEC);
        page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (page != MAP_FAILED && page->magic == SRV_CRASH_PAGE_MAGIC) {
        page->stage = SRV_CRASH_STAGE_LOADING;
    } else {
        (void)oto_fail(error, OTO_INVALID, "descriptor %d is no crash page: --crash-page is for the supervising parent", fd);
        return NULL;
    }
    return page;
}

void srv_crash_page_saved(struct srv_crash_page *page, const char *path)
{
    if (page != NULL && strlen(path) < SRV_CRASH_PATH_BYTES) {
        (void)snprintf(page->save[page->saves % SRV_CRASH_SAVES], SRV_CRASH_PATH_BYTES, "%s", path);
        __atomic_store_n(&page->saves, page->saves + 1, __ATOMIC_RELEASE);
    }
}

static void copy(char *to, size_t bytes, const char *from)
{
    size_t i = 0;
    for (; from != NULL && from[i] != '\0' && i + 1 < bytes; i++) {
        to[i] = from[i];
    }
    to[i] = '\0';
}

/* Writes a node's name and plugin to the page, without any call that signal handlers forbid. `node`: 1 + its index, 0: none. */
static void name_node(struct srv_crash_page *page, const struct srv_engine *engine, uint32_t node)
{
    if (node > 0) {
        copy(page->node, sizeof page->node, srv_engine_node_setup(engine, node - 1)->node);
        copy(page->plugin, sizeof page->plugin, oto_plugin_path(srv_engine_node_plugin(engine, node - 1)));
    }
}

void srv_crash_page_serves(struct srv_crash_page *page)
{
    if (page != NULL) {
        page->stage = SRV_CRASH_STAGE_SERVING;
    }
}

void srv_crash_page_ends(struct srv_crash_page *page)
{
    if (page != NULL) {
        page->stage = page->stage == SRV_CRASH_STAGE_LOADING ? SRV_CRASH_STAGE_FAILED : SRV_CRASH_STAGE_ENDED;
    }
}

static void name_stepping_node(void)
{
    if (watched.engine != NULL) {
        name_node(watched.page, watched.engine, srv_engine_stepping_node(watched.engine));
    }
}

static void record(int signal, const siginfo_t *facts)
{
    struct srv_crash_page *page = watched.page;
    if (page->signal != 0) {
        return;
    }
    page->code = facts->si_code;
    page->address = facts->si_code > 0 ? (uint64_t)(uintptr_t)facts->si_addr : 0;
    if (facts->si_code > 0 || signal == SIGABRT) {
        name_stepping_node();
    }
    __atomic_store_n(&page->signal, (uint32_t)signal, __ATOMIC_RELEASE);
}

static void print(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

/* What the supervising parent would print, for a server that has none. Makes no call that signal handlers forbid. */
static void say(const char *how, const char *signal_name)
{
    const struct srv_crash_page *page = watched.page;
    print("otolithd: the server ");
    print(how);
    print(signal_name);
    if (page->node[0] != '\0') {
        print(" in the step of '");
        print(page->node);
        print("', plugin ");
        print(page->plugin);
    }
    print("\n");
}

/* Ends a server without a supervising parent as a crash, where a plugin would end it with an exit code of its own. */
static void refuse_exit(void)
{
    if (!watched.expects_exit && watched.page == &watched.alone) {
        name_stepping_node();
        say("was ended by a plugin, and not in order", "");
        (void)signal(SIGABRT, SIG_DFL);
        abort();
    }
}

/*
 * Records the cause of death; SA_RESETHAND has restored the default action. A fault repeats after the handler returns, a signal
 * that was sent is raised again. If a step ends the process by exit() or by the system call, its node is recorded first.
 */
static void on_deadly(int signal, siginfo_t *facts, void *context)
{
    if (signal == SIGSYS && srv_exit_trap_caught(facts)) {
        refuse_exit();
        name_stepping_node();
        srv_exit_trap_let_go(context);
    }
    record(signal, facts);
    if (watched.page == &watched.alone) {
        const char *name = sigabbrev_np(signal);
        say("died of SIG", name != NULL ? name : "?");
    }
    if (facts->si_code <= 0 || signal == SIGABRT || signal == SIGSYS) {
        (void)raise(signal);
    }
}

enum oto_status srv_crash_watch(struct srv_crash_page *page, const struct srv_engine *engine, struct oto_error *error)
{
    struct sigaction action = {.sa_sigaction = on_deadly, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
    (void)sigemptyset(&action.sa_mask);
    watched.page = page != NULL ? page : &watched.alone;
    watched.engine = engine;
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        struct sigaction present;
        if (page == NULL && sigaction(deadly[i], NULL, &present) == 0 && present.sa_handler != SIG_DFL) {
            continue; /* a sanitizer's, which prints more */
        }
        if (sigaction(deadly[i], &action, NULL) != 0) {
            return oto_fail(error, OTO_IO, "signal %d cannot be handled: %s", deadly[i], strerror(errno));
        }
    }
    return OTO_OK;
}

void srv_crash_forget(const struct srv_engine *engine)
{
    if (watched.engine == engine) {
        watched.engine = NULL;
    }
}

enum oto_status srv_crash_watch_alone(struct oto_error *error)
{
    (void)atexit(refuse_exit);
    return srv_crash_watch(NULL, NULL, error);
}

void srv_crash_expect_exit(void)
{
    watched.expects_exit = true;
}

void srv_crash_give_up(struct srv_crash_page *page, const struct srv_engine *engine)
{
    const uint32_t node = __atomic_load_n(&srv_engine_segment(engine)->current_node, __ATOMIC_RELAXED);
    name_node(page, engine, node <= srv_engine_node_count(engine) ? node : 0);
    __atomic_store_n(&page->signal, (uint32_t)SIGABRT, __ATOMIC_RELEASE);
    (void)signal(SIGABRT, SIG_DFL);
    abort();
}
