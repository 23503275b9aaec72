/*
 * The segment of a world: its layout, and inline readers. Only the server writes. Clients map its sealed memfd
 * read-only. A reader never locks, never writes and never waits for the writer: every channel is a ring of slots with a
 * lock word each, and a reader gets the exact number of lost records. All functions may be called from any thread; a
 * cursor belongs to one thread.
 *
 * Memory order (Boehm, HPL-2012-68, figure 6): the writer makes the slot's lock odd, fences, writes the payload as
 * relaxed 64-bit words, and releases the even lock. A reader acquires the lock, reads the words relaxed, fences and
 * reads the lock again. ThreadSanitizer does not model fences, so under it every word is acquire/release.
 */
#ifndef OTOLITH_SEGMENT_H
#define OTOLITH_SEGMENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "otolith/channel.h"
#include "otolith/status.h"
#include "otolith/version.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OTO_SEGMENT_MAGIC UINT64_C(0x314d47534f544f00) /* "\0OTOSGM1" */
#define OTO_SEGMENT_ENDIAN 0x01020304u
#define OTO_SEGMENT_PAGE 4096u
#define OTO_SEGMENT_HEADER_BYTES 16384u
#define OTO_SEGMENT_MAX_BYTES (UINT64_C(8) << 30)
#define OTO_SEGMENT_MAX_CHANNELS 65536u
#define OTO_SEGMENT_MAX_FIELDS (1u << 20)
#define OTO_CLOCK_SLOTS 8u
#define OTO_WORLD_NAME_BYTES 64

enum oto_server_state {
    OTO_SERVER_INIT = 0,
    OTO_SERVER_RUNNING = 1,
    OTO_SERVER_PAUSED = 2,
    OTO_SERVER_FAULT = 3,   /* stopped by overrun policy `fault` or a fatal plugin; readable */
    OTO_SERVER_CLOSING = 4, /* ended or replaced by a new segment */
    OTO_SERVER_ENDED = 5    /* the run reached its end; the last values stay readable */
};

enum oto_clock_mode {
    OTO_MODE_REALTIME = 1,
    OTO_MODE_ASAP = 2,
    OTO_MODE_STEP = 3,
    OTO_MODE_LOCKSTEP = 4,
    OTO_MODE_EXTERNAL = 5
};

/* The names that world files, commands and reports use; "" for a number that is none. */
static inline const char *oto_mode_name(uint32_t mode)
{
    static const char *const names[] = {"", "realtime", "asap", "step", "lockstep", "external"};
    return mode < sizeof names / sizeof *names ? names[mode] : "";
}

static inline const char *oto_server_state_name(uint32_t state)
{
    static const char *const names[] = {"init", "running", "paused", "fault", "closing", "ended"};
    return state < sizeof names / sizeof *names ? names[state] : "";
}

/* clang-format off */
#define OTO_COUNTER_TABLE(X) \
    X(TICKS, "ticks")                     /* completed in this run */ \
    X(LATE, "late_ticks")                 /* started more than 100 µs after the deadline */ \
    X(OVERRUNS, "overruns")               /* work ended after the next deadline */ \
    X(SLIPS, "slips")                     /* deadlines moved */ \
    X(SLIPPED_NS, "slipped_ns")           /* sum of the time by which deadlines were moved */ \
    X(CATCHUP_TICKS, "catchup_ticks")     /* run back to back to catch up */ \
    X(WARNINGS, "plugin_warnings") \
    X(DISCARDS, "plugin_discards") \
    X(ERRORS, "plugin_errors") \
    X(QUARANTINED, "quarantined_nodes") \
    X(SWAPS, "swaps") \
    X(SWAPS_REFUSED, "swaps_refused") \
    X(PARAMETER_CHANGES, "parameter_changes") \
    X(COMMANDS, "commands") \
    X(WAKES, "wakes") \
    X(LOSSLESS_WAITS, "lossless_waits") \
    X(LOSSLESS_DEMOTED, "lossless_demoted") \
    X(PUBLISHER_RESTARTS, "publisher_restarts") \
    X(RESIDENT_LIBRARIES, "resident_libraries") \
    X(CLIENTS, "clients") \
    X(NON_FINITE, "non_finite_samples") \
    X(STALLS, "stalls")                   /* ticks that the watchdog found stuck */       \
    X(STALE, "stale_samples")             /* repeated because a plugin host did not answer */ \
    X(HOST_RESTARTS, "plugin_host_restarts") \
    X(PARTICIPANT_LATE, "participant_late")       /* answers that did not come within the timeout */ \
    X(PARTICIPANT_REFUSED, "participant_refused") /* answers that were not accepted */ \
    X(PARTICIPANT_HELD, "participant_held")       /* ticks for which a vehicle held its last truth */ \
    X(SWAPS_ROLLED_BACK, "swaps_rolled_back")
/* clang-format on */

enum oto_counter {
#define OTO_X(name, text) OTO_COUNTER_##name,
    OTO_COUNTER_TABLE(OTO_X)
#undef OTO_X
    OTO_COUNTER_COUNT
};

static inline const char *oto_counter_text(uint32_t counter)
{
#define OTO_X(name, text) text,
    static const char *const texts[] = {OTO_COUNTER_TABLE(OTO_X)};
#undef OTO_X
    return counter < OTO_COUNTER_COUNT ? texts[counter] : "";
}

/* A histogram of durations: bucket 8·e + m holds ns with exponent e and the next three bits m; 0…7 ns are exact. */
#define OTO_HISTOGRAM_BUCKETS 256u
struct oto_histogram {
    uint64_t count[OTO_HISTOGRAM_BUCKETS];
    uint64_t max_ns;
    uint64_t spare[7];
};

static inline uint32_t oto_histogram_bucket(uint64_t ns)
{
    if (ns < 8) {
        return (uint32_t)ns;
    }
    const uint32_t exponent = 63u - (uint32_t)__builtin_clzll(ns);
    const uint32_t bucket = 8u * (exponent - 2u) + (uint32_t)((ns >> (exponent - 3u)) & 7u);
    return bucket < OTO_HISTOGRAM_BUCKETS ? bucket : OTO_HISTOGRAM_BUCKETS - 1u;
}

/* The middle of a bucket in ns. */
static inline double oto_histogram_value_ns(uint32_t bucket)
{
    if (bucket < 8) {
        return (double)bucket;
    }
    const uint32_t exponent = bucket / 8u + 2u;
    const double width = (double)(UINT64_C(1) << (exponent - 3u));
    return (double)(UINT64_C(1) << exponent) + ((double)(bucket % 8u) + 0.5) * width;
}

/* One clock reading; the tick thread writes it after each tick. */
struct oto_clock {
    uint64_t tick;         /* completed ticks */
    int64_t sim_time_ns;   /* floor(tick / fb) */
    int64_t start_mono_ns; /* CLOCK_MONOTONIC at the start of the last tick; not part of the state */
    int64_t work_ns;       /* work of the last tick */
    double real_time_factor; /* over about the last second */
    double scale;            /* requested scale */
    uint64_t state_hash;     /* chain over all ticks so far (A19) */
};

struct oto_clock_slot {
    uint64_t lock;
    struct oto_clock clock;
};

struct oto_segment_header {
    uint64_t magic; /* stored last, release */
    uint16_t major, minor;
    uint32_t header_bytes;
    uint32_t endian;
    uint32_t page_bytes;
    uint64_t segment_bytes; /* == fstat size */
    uint64_t epoch;         /* random, one for each server run (A8) */
    uint64_t layout_hash;   /* oto_segment_layout_hash */
    uint64_t field_offset;  /* offset of struct oto_segment_field[field_count] */
    uint32_t field_count, field_stride;
    uint64_t directory_offset; /* offset of struct oto_segment_channel[channel_count] */
    uint32_t channel_count, channel_stride;
    uint32_t writer_pid, boot;
    uint64_t writer_start_time; /* field 22 of /proc/pid/stat, which distinguishes processes with the same pid */
    uint64_t rate_num, rate_den;
    uint64_t seed;
    char world[OTO_WORLD_NAME_BYTES];
    uint64_t lineage; /* 184: epoch of the first run of this chain of restarts after crashes; the run's own if it is the first */
    unsigned char reserved0[256 - 192];
    /* 256: written by the tick thread */
    uint64_t clock_head; /* completed clock writes; newest slot is (head - 1) % OTO_CLOCK_SLOTS */
    uint64_t reserved1[7];
    struct oto_clock_slot clock[OTO_CLOCK_SLOTS]; /* 320 */
    uint32_t tick_futex;                          /* 832: low half of the tick count, woken once a tick */
    uint32_t state;                               /* enum oto_server_state */
    uint32_t mode;                                /* enum oto_clock_mode */
    uint32_t current_node;                        /* 1 + index of the node being stepped, 0 between nodes; read after
                                                   * a crash */
    uint64_t reserved2[6];
    uint64_t counter[64]; /* 896: enum oto_counter, relaxed */
    unsigned char reserved3[4096 - 1408];
    struct oto_histogram lateness; /* 4096: start of the tick after its deadline */
    struct oto_histogram work;     /* duration of a tick's work */
    unsigned char reserved4[OTO_SEGMENT_HEADER_BYTES - 4096 - 2 * sizeof(struct oto_histogram)];
};

/* A field in the segment: struct oto_field with its texts embedded. */
struct oto_segment_field {
    char name[OTO_FIELD_NAME_BYTES];
    char unit[OTO_FIELD_UNIT_BYTES];
    char frame[OTO_FIELD_FRAME_BYTES];
    uint32_t type, count, offset, reserved;
    char text[96];
    unsigned char reserved1[64];
};

#define OTO_CHANNEL_TRUTH (1u << 0)
#define OTO_CHANNEL_EVENTS (1u << 1)
#define OTO_CHANNEL_ENABLED (1u << 2)

struct oto_segment_channel {
    char topic[OTO_TOPIC_BYTES];          /* "demo/car/imu", or its alias */
    char node[OTO_TOPIC_BYTES];           /* "demo/car/imu": the name for control commands; "demo/@events" for the
                                           * world's events */
    char plugin[32];
    char plugin_version[16];
    char type_name[OTO_RECORD_NAME_BYTES];
    char frame_id[OTO_WORLD_NAME_BYTES];  /* frame_id of the ROS header */
    uint64_t type_hash;
    uint64_t rate_num, rate_den;          /* 0/1 for events */
    uint64_t ring_offset;                 /* offset of struct oto_ring, which the slots follow */
    uint32_t capacity;                    /* slots, a power of two */
    uint32_t slot_stride;                 /* bytes, a multiple of 64 */
    uint32_t payload_bytes;
    uint32_t first_field, field_count;
    uint32_t node_index;                  /* nodes are numbered in tick order; UINT32_MAX for the world's own
                                           * channels */
    uint32_t generation;                  /* counts the swaps of the producer; relaxed */
    uint32_t flags;                       /* OTO_CHANNEL_… */
    uint32_t identity_lock;               /* odd while a swap writes plugin, plugin_version and generation */
    unsigned char reserved[512 - 404];
};

/* The plugin that fills a channel, which swaps change. The server terminates the texts with NUL. */
struct oto_channel_identity {
    char plugin[32];
    char plugin_version[16];
    uint32_t generation;
};

/*
 * FNV-1a-64 over the field table, then the directory. Members that change during a run (the identity, `flags`) count as
 * 0.
 */
static inline uint64_t oto_segment_layout_hash(const struct oto_segment_field *fields, uint32_t field_count,
                                               const struct oto_segment_channel *channels, uint32_t channel_count)
{
    uint64_t hash = oto_fnv1a64_more(OTO_FNV1A64_START, fields, field_count * sizeof *fields);
    for (uint32_t i = 0; i < channel_count; i++) {
        struct oto_segment_channel channel;
        memcpy(&channel, &channels[i], sizeof channel);
        memset(channel.plugin, 0, sizeof channel.plugin);
        memset(channel.plugin_version, 0, sizeof channel.plugin_version);
        channel.generation = 0;
        channel.flags = 0;
        channel.identity_lock = 0;
        hash = oto_fnv1a64_more(hash, &channel, sizeof channel);
    }
    return hash;
}

#ifndef __cplusplus
_Static_assert(offsetof(struct oto_segment_header, lineage) == 184, "segment layout");
_Static_assert(offsetof(struct oto_segment_header, clock_head) == 256, "segment layout");
_Static_assert(offsetof(struct oto_segment_header, clock) == 320, "segment layout");
_Static_assert(offsetof(struct oto_segment_header, tick_futex) == 832, "segment layout");
_Static_assert(offsetof(struct oto_segment_header, counter) == 896, "segment layout");
_Static_assert(offsetof(struct oto_segment_header, lateness) == 4096, "segment layout");
_Static_assert(sizeof(struct oto_segment_header) == OTO_SEGMENT_HEADER_BYTES, "segment layout");
_Static_assert(sizeof(struct oto_segment_field) == 256, "segment layout");
_Static_assert(sizeof(struct oto_segment_channel) == 512, "segment layout");
_Static_assert(OTO_COUNTER_COUNT <= 64, "counters fit");
_Static_assert(sizeof(struct oto_clock_slot) == 64, "segment layout");
#endif

#if defined(__SANITIZE_THREAD__)
#define OTO_ORDER_LOAD_ __ATOMIC_ACQUIRE
#define OTO_ORDER_STORE_ __ATOMIC_RELEASE
#define OTO_FENCE_(order) ((void)0)
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OTO_ORDER_LOAD_ __ATOMIC_ACQUIRE
#define OTO_ORDER_STORE_ __ATOMIC_RELEASE
#define OTO_FENCE_(order) ((void)0)
#endif
#endif
#ifndef OTO_ORDER_LOAD_
#define OTO_ORDER_LOAD_ __ATOMIC_RELAXED
#define OTO_ORDER_STORE_ __ATOMIC_RELAXED
#define OTO_FENCE_(order) __atomic_thread_fence(order)
#endif

/* Copies whole 64-bit words out of shared memory. `bytes` is a multiple of 8, both sides aligned to 8. */
static inline void oto_words_load(void *to, const void *from, size_t bytes)
{
    const uint64_t *source = (const uint64_t *)from;
    unsigned char *target = (unsigned char *)to;
    for (size_t i = 0; i < bytes / 8; i++) {
        const uint64_t word = __atomic_load_n(&source[i], OTO_ORDER_LOAD_);
        memcpy(target + 8 * i, &word, 8);
    }
}

/* The reverse of oto_words_load, for the writer. */
static inline void oto_words_store(void *to, const void *from, size_t bytes)
{
    uint64_t *target = (uint64_t *)to;
    const unsigned char *source = (const unsigned char *)from;
#pragma GCC unroll 4
    for (size_t i = 0; i < bytes / 8; i++) {
        uint64_t word;
        memcpy(&word, source + 8 * i, 8);
        __atomic_store_n(&target[i], word, OTO_ORDER_STORE_);
    }
}

/* The current plugin of a channel. OTO_OK, or OTO_AGAIN if swaps changed it during each attempt to read. */
static inline enum oto_status oto_channel_identity_read(const struct oto_segment_channel *channel,
                                                        struct oto_channel_identity *identity)
{
    for (int attempt = 0; attempt < 16; attempt++) {
        const uint32_t before = __atomic_load_n(&channel->identity_lock, __ATOMIC_ACQUIRE);
        oto_words_load(identity->plugin, channel->plugin, sizeof identity->plugin);
        oto_words_load(identity->plugin_version, channel->plugin_version, sizeof identity->plugin_version);
        identity->generation = __atomic_load_n(&channel->generation, __ATOMIC_RELAXED);
        OTO_FENCE_(__ATOMIC_ACQUIRE);
        if (before % 2 == 0 && __atomic_load_n(&channel->identity_lock, OTO_ORDER_LOAD_) == before) {
            return OTO_OK;
        }
    }
    return OTO_AGAIN;
}

/* The newest clock reading. OTO_OK, or OTO_AGAIN before the first tick. */
static inline enum oto_status oto_segment_clock(const struct oto_segment_header *header, struct oto_clock *clock)
{
    for (int attempt = 0; attempt < 4; attempt++) {
        const uint64_t written = __atomic_load_n(&header->clock_head, __ATOMIC_ACQUIRE);
        if (written == 0) {
            return OTO_AGAIN;
        }
        const struct oto_clock_slot *slot = &header->clock[(written - 1) % OTO_CLOCK_SLOTS];
        const uint64_t wanted = 2 * written + 2;
        if (__atomic_load_n(&slot->lock, __ATOMIC_ACQUIRE) != wanted) {
            continue;
        }
        oto_words_load(clock, &slot->clock, sizeof *clock);
        OTO_FENCE_(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&slot->lock, OTO_ORDER_LOAD_) == wanted) {
            return OTO_OK;
        }
    }
    return OTO_AGAIN;
}

#ifdef __cplusplus
}
#endif

#endif
