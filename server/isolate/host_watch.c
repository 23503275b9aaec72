#include "host_watch.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>

#include "otolith/hash.h"

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* The C library calls these without an argument of ours: the counts are the program's. */
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

/* This process ends without exit handlers: they are only counted. */
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

void host_facts_take(struct host_facts *facts)
{
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
    if (after->threads != before->threads) {
        return "started a thread";
    }
    if (after->files != before->files) {
        return "left a file open";
    }
    return after->handlers != before->handlers ? "changed how a signal is handled" : NULL;
}
