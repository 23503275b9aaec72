#include "shared.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "otolith/hash.h"

enum { LISTS = 1024, LINE = 64 };

struct plugin_shared {
    struct plugin_shared *next;
    uint64_t hash, holders;
    size_t count;
    _Alignas(LINE) unsigned char bytes[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct plugin_shared *lists[LISTS];

static struct plugin_shared *find(uint64_t hash, const void *bytes, size_t count)
{
    struct plugin_shared *shared = lists[hash % LISTS];
    while (shared != NULL && !(shared->hash == hash && shared->count == count && memcmp(shared->bytes, bytes, count) == 0)) {
        shared = shared->next;
    }
    return shared;
}

static struct plugin_shared *make(uint64_t hash, const void *bytes, size_t count)
{
    if (count > SIZE_MAX / 2) {
        return NULL;
    }
    const size_t whole = (sizeof(struct plugin_shared) + count + LINE - 1) / LINE * LINE;
    struct plugin_shared *shared = aligned_alloc(LINE, whole);
    if (shared != NULL) {
        *shared = (struct plugin_shared){.next = lists[hash % LISTS], .hash = hash, .count = count};
        memcpy(shared->bytes, bytes, count);
        lists[hash % LISTS] = shared;
    }
    return shared;
}

struct plugin_shared *plugin_shared_hold(const void *bytes, size_t count)
{
    const uint64_t hash = oto_fnv1a64_more(OTO_FNV1A64_START, bytes, count);
    (void)pthread_mutex_lock(&lock);
    struct plugin_shared *shared = find(hash, bytes, count);
    if (shared == NULL) {
        shared = make(hash, bytes, count);
    }
    if (shared != NULL) {
        shared->holders++;
    }
    (void)pthread_mutex_unlock(&lock);
    return shared;
}

const void *plugin_shared_bytes(const struct plugin_shared *shared)
{
    return shared->bytes;
}

void plugin_shared_drop(struct plugin_shared *shared)
{
    (void)pthread_mutex_lock(&lock);
    if (--shared->holders == 0) {
        struct plugin_shared **place = &lists[shared->hash % LISTS];
        while (*place != shared) {
            place = &(*place)->next;
        }
        *place = shared->next;
        free(shared);
    }
    (void)pthread_mutex_unlock(&lock);
}
