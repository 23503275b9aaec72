#include "host_watch.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "otolith/hash.h"

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Global counters: the C library calls the functions below without an argument for data of ours. */
static struct {
    bool on;
    uint64_t allocations, exit_handlers;
} watched;

void host_watch_calls(bool on)
{
    watched.on = on;
}

uint64_t host_watch_allocations(void)
{
    return watched.allocations;
}

uint64_t host_watch_exit_handlers(void)
{
    return watched.exit_handlers;
}

#ifndef OTO_SANITIZED_BUILD
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void __libc_free(void *memory);

static void count_allocation(void)
{
    watched.allocations += watched.on ? 1 : 0;
}

void *malloc(size_t bytes)
{
    count_allocation();
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    count_allocation();
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    count_allocation();
    return __libc_realloc(memory, bytes);
}

void free(void *memory)
{
    __libc_free(memory);
}

extern int __cxa_atexit(void (*handler)(void *), void *argument, void *library);

/* The functions are only counted, not stored: this process ends without exit handlers. */
int __cxa_atexit(void (*handler)(void *), void *argument, void *library)
{
    (void)handler;
    (void)argument;
    (void)library;
    watched.exit_handlers += watched.on ? 1 : 0;
    return 0;
}
#endif

/* ---- facts ------------------------------------------------------------------------------------------------------- */

static uint32_t count_entries(const char *path)
{
    uint32_t count = 0;
    DIR *directory = opendir(path);
    while (directory != NULL && readdir(directory) != NULL) {
        count++;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return count;
}

/* Counts the timers of timer_create, setitimer and alarm. */
static uint32_t count_timers(void)
{
    uint32_t count = 0;
    char line[128];
    FILE *list = fopen("/proc/self/timers", "re");
    while (list != NULL && fgets(line, sizeof line, list) != NULL) {
        count += strncmp(line, "ID:", 3) == 0;
    }
    if (list != NULL) {
        (void)fclose(list);
    }
    for (int kind = ITIMER_REAL; kind <= ITIMER_PROF; kind++) {
        struct itimerval left = {0};
        count += getitimer((__itimer_which_t)kind, &left) == 0 && (left.it_value.tv_sec != 0 || left.it_value.tv_usec != 0);
    }
    return count;
}

static bool has_children(void)
{
    siginfo_t facts;
    return waitid(P_ALL, 0, &facts, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* The largest memory of a child that has ended and was waited for; 0: there was none. */
static int64_t memory_of_children(void)
{
    struct rusage used = {0};
    (void)getrusage(RUSAGE_CHILDREN, &used);
    return used.ru_maxrss;
}

bool host_watch_processes(void)
{
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;
}

static uint32_t kill_children(void)
{
    uint32_t count = 0;
    int child;
    FILE *list = fopen("/proc/thread-self/children", "re");
    while (list != NULL && fscanf(list, "%d", &child) == 1) {
        count += kill(child, SIGKILL) == 0;
    }
    if (list != NULL) {
        (void)fclose(list);
    }
    return count;
}

void host_end_children(void)
{
    uint32_t killed;
    do { /* repeated, because grandchildren become children of this process */
        killed = kill_children();
        for (uint32_t i = 0; i < killed; i++) {
            siginfo_t facts;
            (void)waitid(P_ALL, 0, &facts, WEXITED | __WALL);
        }
    } while (killed > 0);
}

void host_facts_take(struct host_facts *facts)
{
    facts->process = getpid();
    facts->has_children = has_children();
    facts->children_kib = memory_of_children();
    facts->timers = count_timers();
    facts->threads = count_entries("/proc/self/task");
    facts->files = count_entries("/proc/self/fd");
    facts->handlers = OTO_FNV1A64_START;
    for (int signal = 1; signal < NSIG; signal++) {
        struct sigaction action = {.sa_flags = 0};
        if (sigaction(signal, NULL, &action) == 0) {
            const uintptr_t handler = (uintptr_t)action.sa_sigaction;
            facts->handlers = oto_fnv1a64_more(facts->handlers, &handler, sizeof handler);
        }
    }
}

const char *host_facts_complaint(const struct host_facts *before, const struct host_facts *after)
{
    if (after->process != before->process || after->has_children != before->has_children ||
        after->children_kib != before->children_kib) {
        return "started a process";
    }
    if (after->timers != before->timers) {
        return "set a timer";
    }
    if (after->threads != before->threads) {
        return "started a thread";
    }
    if (after->files != before->files) {
        return "left a file open";
    }
    return after->handlers != before->handlers ? "changed how a signal is handled" : NULL;
}
