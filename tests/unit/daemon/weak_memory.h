/*
 * A small model of the C11 memory order for code with one writer, and readers that never store. It is included before
 * all else (-include) and takes the place of the __atomic builtins, so that what is explored is the real code.
 *
 * Readers that store nothing cannot see each other, and the writer does not see them: whatever one reader may observe
 * follows from what each of its loads may return. The writer runs once and its stores are kept; a reader then runs again
 * and again until each of its loads has returned every value that the standard lets it return there:
 *
 *   - never a store older, in the order of its location, than one that happens before the load, or than one which the
 *     same reader has seen at that location before (coherence); any other, however late the writer is with it;
 *   - a load that acquires, or is followed by a fence that acquires, synchronises with the store that it reads if that
 *     releases, or with the last releasing fence before that store (C11 5.1.2.4, 7.17.4). As in C++20 later stores
 *     of the same thread do not prolong a release.
 *
 * Plain loads find what memory held before the writer ran. One exploration at a time, on one thread.
 */
#ifndef WEAK_MEMORY_H
#define WEAK_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The orders of a build for ThreadSanitizer are others; what runs everywhere else is explored in every build. */
#undef __SANITIZE_THREAD__

#define __atomic_load_n(address, order) ((__typeof__(*(address) + 0))weak_load((address), sizeof *(address), (order)))
#define __atomic_store_n(address, value, order)                                                                        \
    weak_store((address), sizeof *(address), (uint64_t)(value), (order))
#define __atomic_thread_fence(order) weak_fence(order)

uint64_t weak_load(const volatile void *address, size_t bytes, int order);
void weak_store(volatile void *address, size_t bytes, uint64_t value, int order);
void weak_fence(int order);

/* A weakening of one kind of step, to see that an exploration finds the lack. */
enum weak_step { WEAK_STORE, WEAK_LOAD, WEAK_FENCE };
struct weak_mutation {
    const char *name;
    enum weak_step step;
    int order;                    /* steps that ask for this order … */
    const volatile void *address; /* … here, but for fences, which are nowhere … */
    bool left_out;                /* … are left out (no load can be), or else relaxed */
};

struct weak_model {
    void (*write)(void *context);
    void (*read)(void *context);        /* from the start each time; what it knows of the writer comes by loads alone */
    bool (*holds)(const void *context); /* after each whole run of the reader */
    void *context;
    uint32_t loads_max; /* a reader that loads more often is cut off there, and counted; 0: as often as it likes */
};

struct weak_result {
    uint64_t runs, cut;
    uint64_t broken; /* runs after which `holds` was false; with a mutation the exploration ends at the first */
};

/* `mutation` may be NULL. Aborts, with a sentence, where a bound of the model itself does not do. */
struct weak_result weak_explore(const struct weak_model *model, const struct weak_mutation *mutation);

#endif
