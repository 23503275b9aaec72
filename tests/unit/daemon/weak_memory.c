#include "weak_memory.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOCATIONS 128 /* a power of two; by a hash of the address */
#define STORES_MAX 16 /* to one location */
#define LOADS_MAX 4096

struct store {
    uint32_t step; /* of the writer, from 1; 0: what memory held before */
    uint32_t view; /* who synchronises with this store knows of all steps up to that one */
    uint64_t value;
};

struct location {
    const volatile void *address; /* NULL: free */
    size_t bytes;
    uint32_t count;
    struct store stores[STORES_MAX];
};

static struct {
    bool writing;
    const struct weak_mutation *mutation;
    struct location locations[LOCATIONS];
    uint32_t seen[LOCATIONS]; /* index of the newest store that the reader has read there */
    uint32_t step, fence;     /* of the writer: its last step, and the last one before its newest releasing fence */
    uint32_t known, fenced;   /* of the reader: steps that happen before it, and that will once a fence has acquired */
    uint32_t loads, loads_max;
    uint32_t depth;           /* so many choices are given, the rest is open */
    uint32_t taken[LOADS_MAX], choices[LOADS_MAX];
    jmp_buf cut;
} weak;

static void insist(bool condition, const char *sentence)
{
    if (!condition) {
        (void)fprintf(stderr, "weak_memory: %s\n", sentence);
        abort();
    }
}

static uint64_t plain_load(const volatile void *address, size_t bytes)
{
    uint64_t value = 0;
    memcpy(&value, (const void *)(uintptr_t)address, bytes); /* of a little-endian machine */
    return value;
}

static struct location *find(const volatile void *address, size_t bytes)
{
    size_t at = ((uintptr_t)address / 4) % LOCATIONS;
    for (size_t looks = 0; looks < LOCATIONS; looks++, at = (at + 1) % LOCATIONS) {
        struct location *location = &weak.locations[at];
        if (location->address == NULL) {
            *location = (struct location){.address = address, .bytes = bytes, .count = 1};
            location->stores[0].value = plain_load(address, bytes);
        }
        if (location->address == address) {
            insist(location->bytes == bytes, "a location is used with two sizes");
            return location;
        }
    }
    insist(false, "more locations than there is room for");
    return NULL;
}

static bool acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool is_mutated(enum weak_step step, const volatile void *address, int order)
{
    const struct weak_mutation *mutation = weak.mutation;
    return mutation != NULL && mutation->step == step && mutation->order == order && mutation->address == address;
}

void weak_fence(int order)
{
    if (is_mutated(WEAK_FENCE, NULL, order)) {
        return;
    }
    if (weak.writing && releases(order)) {
        weak.fence = weak.step;
    }
    if (!weak.writing && acquires(order) && weak.fenced > weak.known) {
        weak.known = weak.fenced;
    }
}

void weak_store(volatile void *address, size_t bytes, uint64_t value, int order)
{
    insist(weak.writing, "a reader stores");
    const bool mutated = is_mutated(WEAK_STORE, address, order);
    if (mutated && weak.mutation->left_out) {
        return;
    }
    struct location *location = find(address, bytes);
    insist(location->count < STORES_MAX, "more stores to one location than there is room for");
    const uint32_t step = ++weak.step;
    const uint32_t view = releases(order) && !mutated ? step : weak.fence;
    location->stores[location->count++] = (struct store){step, view, value};
}

/* Takes the next choice of `count`: the one that is given, or the first. */
static uint32_t choose(uint32_t count)
{
    if (weak.loads == weak.loads_max) {
        longjmp(weak.cut, 1);
    }
    const uint32_t load = weak.loads++;
    if (load >= weak.depth) {
        weak.taken[load] = 0;
        weak.choices[load] = count;
    }
    insist(weak.choices[load] == count, "the reader does not do the same twice");
    return weak.taken[load];
}

uint64_t weak_load(const volatile void *address, size_t bytes, int order)
{
    struct location *location = find(address, bytes);
    if (weak.writing) {
        return location->stores[location->count - 1].value;
    }
    uint32_t *seen = &weak.seen[location - weak.locations], oldest = *seen;
    while (oldest + 1 < location->count && location->stores[oldest + 1].step <= weak.known) {
        oldest++;
    }
    *seen = oldest + choose(location->count - oldest);
    const struct store *store = &location->stores[*seen];
    weak.fenced = store->view > weak.fenced ? store->view : weak.fenced;
    if (acquires(order) && !is_mutated(WEAK_LOAD, address, order) && store->view > weak.known) {
        weak.known = store->view;
    }
    return store->value;
}

/* One run of the reader with the choices that are given; false where it was cut off. */
static bool run_reader(const struct weak_model *model)
{
    weak.known = weak.fenced = weak.loads = 0;
    memset(weak.seen, 0, sizeof weak.seen);
    if (setjmp(weak.cut) != 0) {
        return false;
    }
    model->read(model->context);
    return true;
}

/* The next choices, the last one first; false when there are no others. */
static bool go_on(void)
{
    weak.depth = weak.loads;
    while (weak.depth > 0 && weak.taken[weak.depth - 1] + 1 == weak.choices[weak.depth - 1]) {
        weak.depth--;
    }
    if (weak.depth > 0) {
        weak.taken[weak.depth - 1]++;
    }
    return weak.depth > 0;
}

struct weak_result weak_explore(const struct weak_model *model, const struct weak_mutation *mutation)
{
    struct weak_result result = {0};
    memset(&weak, 0, sizeof weak);
    weak.mutation = mutation;
    weak.loads_max = model->loads_max > 0 && model->loads_max < LOADS_MAX ? model->loads_max : LOADS_MAX;
    weak.writing = true;
    model->write(model->context);
    weak.writing = false;
    do {
        const bool whole = run_reader(model);
        insist(whole || model->loads_max > 0, "a reader loads more often than there is room for");
        result.runs++;
        result.cut += !whole;
        result.broken += whole && !model->holds(model->context);
    } while ((mutation == NULL || result.broken == 0) && go_on());
    return result;
}
