/*
 * A participant's mailbox: shared memory in which another process gives the truth or the controls of vehicles, or runs in step
 * with the ticks (A12). The server creates it as a memfd of sealed size; both sides map it readable and writable. The server
 * trusts nothing in it: it copies an answer once, checks its copy, and keeps its own values elsewhere.
 * `otolith/participant.h` implements this layout; only clients without libotolith need this header. Pure data: any
 * thread.
 *
 * A round: the server writes the grant and the truth of the vehicles between an odd and an even `lock`, then wakes
 * `grant.futex`. The participant writes a record of each of its vehicles into buffer (lock / 2) & 1 and the answer's
 * tick and bytes, stores the lock that it answers in `answer.grant` (release), adds 1 to `answer.futex`, and wakes it
 * if `server_waits` is set. The samples of all ticks up to `grant.tick` are in the segment before the grant.
 */
#ifndef OTOLITH_MAILBOX_H
#define OTOLITH_MAILBOX_H

#include <stddef.h>
#include <stdint.h>

#include "otolith/records.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OTO_MAILBOX_MAGIC UINT64_C(0x31584f424d544f00) /* "\0OTMBOX1" */
#define OTO_MAILBOX_MAJOR 1
#define OTO_MAILBOX_MINOR 1 /* 1: controls */
#define OTO_MAILBOX_ENDIAN 0x01020304u
#define OTO_MAILBOX_HEADER_BYTES 4096u
#define OTO_PARTICIPANT_NAME_BYTES 32
#define OTO_MAILBOX_MAX_STEP_N 1000u

/* Limits of a record; an answer beyond them is refused. */
#define OTO_MAILBOX_MAX_POSITION_M 1e7
#define OTO_MAILBOX_MAX_SPEED_M_S 1e4 /* of the velocity, and of the mean velocity since the previous record */
#define OTO_MAILBOX_MAX_ACCEL_M_S2 1e6
#define OTO_MAILBOX_MAX_RATE_RAD_S 1e4
#define OTO_MAILBOX_MAX_ANGULAR_ACCEL_RAD_S2 1e7
#define OTO_MAILBOX_QUATERNION_TOLERANCE 1e-3 /* largest deviation of the norm from 1; the server normalises it */
#define OTO_MAILBOX_MAX_RUN_TICKS UINT64_C(1000000000) /* most ticks that a clock master may allow beyond the present tick */

enum oto_mailbox_state {
    OTO_MAILBOX_JOINED = 1,
    OTO_MAILBOX_DROPPED = 2, /* the timeout policy dropped the participant: it must leave and join again */
    OTO_MAILBOX_CLOSED = 3   /* the run has ended or faulted */
};

enum oto_participant_role {
    OTO_ROLE_PHYSICS = 1,    /* owns the truth of vehicles */
    OTO_ROLE_CONTROLLER = 2, /* owns no vehicle; the tick waits for its answer */
    OTO_ROLE_MASTER = 3      /* owns no vehicle; in mode external its grants drive the clock */
};

enum oto_timeout_policy {
    OTO_TIMEOUT_WAIT = 1, /* the tick waits up to the wait limit, then the run faults */
    OTO_TIMEOUT_HOLD = 2, /* its vehicles hold their last truth, flagged stale, until it answers again */
    OTO_TIMEOUT_DROP = 3, /* as HOLD, and the participant must join again */
    OTO_TIMEOUT_FAULT = 4 /* the run stops */
};

/* Flags of a record. */
#define OTO_TRUTH_HAS_ACCEL (1u << 0)         /* accel_enu_m_s2 is set; otherwise the server takes the difference of
                                               * the velocities over the time */
#define OTO_TRUTH_HAS_ANGULAR_ACCEL (1u << 1) /* angular_accel is set; otherwise the server differentiates the angular rates */
#define OTO_TRUTH_HAS_SPEED (1u << 2)         /* longitudinal_speed_m_s is set; otherwise the server takes the
                                               * velocity along body x */
#define OTO_TRUTH_CONTINUES (1u << 3) /* first record of a participant: it continues the truth in the grant */
#define OTO_TRUTH_JUMPS (1u << 4)     /* later record: it does not continue the previous one */
#define OTO_TRUTH_HAS_FLAGS 7u
#define OTO_TRUTH_KNOWN_FLAGS 31u

/* Written by the server. */
struct oto_mailbox_grant {
    uint64_t lock;        /* odd: being written; 0: none yet */
    uint32_t futex;       /* changes with every grant and change of state */
    uint32_t state;       /* enum oto_mailbox_state */
    uint64_t tick;        /* completed ticks; the answer continues the truth at this boundary */
    uint64_t until;       /* the answer ends at this boundary at the latest */
    int64_t t_ns;         /* instants of the two boundaries */
    int64_t until_ns;
    uint64_t completed;   /* completed ticks: written after each tick, for the master of the clock */
    uint64_t reserved;
};

/* Written by the participant. */
struct oto_mailbox_answer {
    uint64_t grant;     /* value of `lock` in the answered grant; stored last, with release order */
    uint32_t futex;     /* changes with every answer and every run_until */
    uint32_t reserved0;
    uint64_t tick;      /* tick of the records: grant.tick < tick <= grant.until */
    uint64_t bytes;     /* bytes of the records: vehicle_count * sizeof(struct oto_mailbox_record) */
    uint64_t run_until; /* grant of the master of the clock: ticks may run until this many are completed */
    uint64_t reserved1[3];
};

/* Why an answer was refused; written by the server under the grant's lock. */
struct oto_mailbox_notice {
    uint64_t refused; /* number of refused answers */
    uint64_t late;    /* number of timeouts */
    uint64_t tick;    /* tick of the last refusal */
    char text[168];   /* why it was refused: one sentence, NUL-padded */
    uint64_t reserved[8];
};

/*
 * Controls of the vehicle that the participant controls; written by the participant. The server takes them at the boundary
 * before the next tick. Controls that are stored before an answer or a run_until are applied before the ticks that this
 * answer or run_until allows.
 */
struct oto_mailbox_controls {
    uint64_t lock; /* odd: being written; changes with every set of values; 0: none yet */
    double values[OTO_CONTROLS];
    uint64_t reserved[7];
};

struct oto_mailbox_header {
    uint64_t magic; /* stored last, with release order */
    uint16_t major, minor;
    uint32_t header_bytes;
    uint32_t endian;
    uint32_t participant; /* index of the participant; inputs are applied in the order of the indices */
    uint64_t mailbox_bytes;
    uint64_t epoch; /* of the segment */
    uint64_t rate_num, rate_den; /* ticks per second */
    uint32_t vehicle_count, record_bytes;
    uint64_t vehicle_offset; /* offset of struct oto_mailbox_vehicle[vehicle_count] */
    uint64_t output_offset;  /* offset of struct oto_mailbox_record[2][vehicle_count] */
    uint32_t role, on_timeout, step_n, reserved0; /* the values that are in force for this participant */
    int64_t timeout_ns, wait_limit_ns;
    char name[OTO_PARTICIPANT_NAME_BYTES];
    char controlled[OTO_PARTICIPANT_NAME_BYTES]; /* 144: vehicle that the participant controls; "": none */
    unsigned char reserved1[256 - 176];
    struct oto_mailbox_grant grant;   /* 256 */
    struct oto_mailbox_answer answer; /* 320 */
    uint32_t server_waits;            /* 384: set by the server while it sleeps on answer.futex */
    uint32_t reserved2[15];
    uint32_t participant_waits; /* 448: set by the participant while it sleeps on grant.futex */
    uint32_t reserved3[15];
    struct oto_mailbox_notice notice; /* 512 */
    struct oto_mailbox_controls controls; /* 768 */
    unsigned char reserved4[OTO_MAILBOX_HEADER_BYTES - 960];
};

/* A vehicle of the participant, and its truth at grant.tick; written by the server. */
struct oto_mailbox_vehicle {
    char name[32];
    uint64_t reserved[3];
    struct oto_truth_record truth;
};

/* A vehicle's truth at answer.tick; written by the participant. */
struct oto_mailbox_record {
    uint64_t tick;  /* = answer.tick */
    uint32_t flags; /* OTO_TRUTH_… */
    uint32_t reserved0;
    uint64_t reserved1[5];
    struct oto_truth_record truth;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct oto_mailbox_header) == OTO_MAILBOX_HEADER_BYTES, "mailbox layout");
_Static_assert(offsetof(struct oto_mailbox_header, name) == 112, "mailbox layout");
_Static_assert(offsetof(struct oto_mailbox_header, grant) == 256, "mailbox layout");
_Static_assert(offsetof(struct oto_mailbox_header, answer) == 320, "mailbox layout");
_Static_assert(offsetof(struct oto_mailbox_header, server_waits) == 384, "mailbox layout");
_Static_assert(offsetof(struct oto_mailbox_header, participant_waits) == 448, "mailbox layout");
_Static_assert(offsetof(struct oto_mailbox_header, notice) == 512, "mailbox layout");
_Static_assert(offsetof(struct oto_mailbox_header, controls) == 768, "mailbox layout");
_Static_assert(sizeof(struct oto_mailbox_controls) == 192, "mailbox layout");
_Static_assert(sizeof(struct oto_mailbox_grant) == 64 && sizeof(struct oto_mailbox_answer) == 64, "mailbox layout");
_Static_assert(sizeof(struct oto_mailbox_notice) == 256, "mailbox layout");
_Static_assert(sizeof(struct oto_mailbox_vehicle) == 256 && sizeof(struct oto_mailbox_record) == 256, "mailbox layout");
#endif

static inline uint64_t oto_mailbox_bytes(uint32_t vehicle_count)
{
    const uint64_t bytes = OTO_MAILBOX_HEADER_BYTES + (uint64_t)vehicle_count * (sizeof(struct oto_mailbox_vehicle) +
                                                                                 2 * sizeof(struct oto_mailbox_record));
    return (bytes + 4095u) / 4096u * 4096u;
}

/* The buffer for the records of the answer to the grant with this `lock`. */
static inline struct oto_mailbox_record *oto_mailbox_records(void *mailbox, uint64_t output_offset,
                                                             uint32_t vehicle_count, uint64_t lock)
{
    unsigned char *base = (unsigned char *)mailbox + output_offset;
    return (struct oto_mailbox_record *)(void *)base + (lock / 2 & 1) * vehicle_count;
}

/* clang-format off */
#define OTO_TIMEOUT_POLICY_TABLE(X) \
    X(WAIT, "wait") \
    X(HOLD, "hold") \
    X(DROP, "drop") \
    X(FAULT, "fault")
#define OTO_PARTICIPANT_ROLE_TABLE(X) \
    X(PHYSICS, "physics") \
    X(CONTROLLER, "controller") \
    X(MASTER, "master")
/* clang-format on */

static inline const char *oto_timeout_policy_text(uint32_t policy)
{
#define OTO_X(name, text) text,
    static const char *const texts[] = {"", OTO_TIMEOUT_POLICY_TABLE(OTO_X)};
#undef OTO_X
    return policy <= OTO_TIMEOUT_FAULT ? texts[policy] : "";
}

static inline const char *oto_participant_role_text(uint32_t role)
{
#define OTO_X(name, text) text,
    static const char *const texts[] = {"", OTO_PARTICIPANT_ROLE_TABLE(OTO_X)};
#undef OTO_X
    return role <= OTO_ROLE_MASTER ? texts[role] : "";
}

#ifdef __cplusplus
}
#endif

#endif
