/*
 * What otolithd and otolith-plugin-host share: a memfd of fixed size that both map for writing, and the messages of the
 * control socket between them. The server makes and fills the mailbox. It keeps its own copies of every offset and
 * size, and copies and checks everything that it reads here. The host trusts the server.
 *
 * One request steps every instance that is due. Three words are futexes:
 *   request        written by the server: counts requests; the host waits on it
 *   notifications  written by the host: grows with each answer or question; the server waits on it
 *   answered       written by the server: counts answered questions; the host waits on it
 */
#ifndef SRV_PLUGIN_HOST_MAILBOX_H
#define SRV_PLUGIN_HOST_MAILBOX_H

#include "sim/remote.h"
#include "base/schedule.h"
#include "otolith/estimator.h"
#include "otolith/plugin.h"

#define SRV_HOST_MAGIC UINT64_C(0x31584f424f544f00) /* "\0OTOBOX1" */
#define SRV_HOST_VERSION 7u
#define SRV_HOST_ALIGN 64u
#define SRV_HOST_HEAD_BYTES 4096u
#define SRV_HOST_MAX_SLOTS 1024u
#define SRV_HOST_MAX_PLUGINS 64u
#define SRV_HOST_MAX_BYTES (UINT64_C(1) << 30)
#define SRV_HOST_QUESTIONS_PER_STEP 4096u /* questions that one step may ask; the rest get OTO_STEP_ERROR */

#define SRV_HOST_INSTANTS 64u /* most instants of a motion in one request */
#define SRV_HOST_CATCH_UP 256u /* most steps of a motion in one request, each with controls of its own */

#define SRV_HOST_DIRECTORY_BYTES 128

#define SRV_HOST_CONTROL_FD 3 /* descriptor of the control socket in the host */

/* The operation that the host executes on the instance of `current_slot`. */
enum srv_host_operation {
    SRV_OPERATION_IDLE = 0,
    SRV_OPERATION_LOAD,
    SRV_OPERATION_PREPARE,
    SRV_OPERATION_INIT,
    SRV_OPERATION_SET_PARAMS,
    SRV_OPERATION_STEP,
    SRV_OPERATION_MIGRATE,
    SRV_OPERATION_VALIDATE,
    SRV_OPERATION_ADOPT,
    SRV_OPERATION_EVALUATE,
    SRV_OPERATION_COUNT
};

/* A crash record, written by the handler of a deadly signal. */
struct srv_host_crash {
    uint32_t signal; /* 0: none */
    uint32_t code;   /* si_code */
    uint64_t address;     /* accessed address */
    uint64_t pc;          /* program counter */
    uint64_t system_call; /* SIGSYS: number of the refused call */
    uint64_t library_offset; /* offset of pc in the plugin's file image, valid if in_plugin */
    uint32_t in_plugin;      /* 1 + index of the plugin that contains pc, 0: none */
    uint32_t reserved;
};

/* A question of the host to the server: the input of an instance at an earlier instant. */
struct srv_host_question {
    uint32_t slot;
    uint32_t reserved;
    struct oto_instant at;
};

struct srv_host_mailbox {
    uint64_t magic;
    uint32_t version, slot_count;
    uint64_t bytes;
    /* written by the server */
    _Alignas(SRV_HOST_ALIGN) uint32_t request;
    uint32_t answered;
    uint32_t answer_status; /* enum oto_step_status */
    struct oto_sensor_input answer;
    /* written by the plugin host */
    _Alignas(SRV_HOST_ALIGN) uint32_t notifications;
    uint32_t done; /* the request that was last completed */
    uint32_t asked;
    uint32_t current_slot;      /* 1 + slot, 0: none */
    uint32_t current_operation; /* enum srv_host_operation */
    struct srv_host_question question;
    struct srv_host_crash crash;
};

/* One output of a step. */
struct srv_host_output {
    int64_t t_ns, sensor_time_ns;
    uint32_t flags, emit;
};

/* The truth of a motion at an instant. */
struct srv_host_instant {
    struct oto_instant at;
    uint32_t status; /* enum oto_step_status or SRV_STEP_FLOAT_MODE */
    uint32_t reserved;
    struct oto_truth_record truth;
};

/* Controls of a motion that hold from the end of step n - 1 on. */
struct srv_host_controls {
    uint64_t n;
    double values[OTO_CONTROLS];
};

#define SRV_SLOT_FRESH (1u << 0)    /* run init; else the server gives the state */
#define SRV_SLOT_OFF (1u << 1)      /* quarantined: not even loaded */
#define SRV_SLOT_NEW_PARAMS (1u << 2) /* call set_params before the first step, with the block at old_params_offset */

/* Beyond enum oto_step_status: the step changed the floating-point mode. */

/* How a swap's candidate gets its state. The server sends a request of its own for this. */
enum srv_host_take {
    SRV_TAKE_NOTHING = 0,
    SRV_TAKE_AS_IS,  /* the state at state_offset, checked by `validate` */
    SRV_TAKE_MIGRATE /* from the state at old_state_offset, then `validate` */
};
enum srv_host_take_result {
    SRV_TAKEN = 0,
    SRV_TAKEN_NOT_MIGRATED,
    SRV_TAKEN_NOT_VALID,
    SRV_TAKEN_FLOAT_MODE,
    SRV_TAKEN_COUNT
};

struct srv_host_slot {
    /* written once */
    struct oto_setup setup;
    char path[256];
    uint64_t params_offset, params_bytes, old_params_offset;
    uint64_t state_offset, state_bytes;
    uint64_t old_state_offset, old_state_bytes; /* state of the previous plugin, for `migrate` */
    uint64_t payload_offset[OTO_PLUGIN_MAX_PORTS];
    uint32_t payload_bytes[OTO_PLUGIN_MAX_PORTS];
    uint32_t old_state_version;
    uint32_t port_count;
    uint32_t plugin; /* index of the descriptor that came with the start message */
    uint32_t flags;  /* SRV_SLOT_… */
    uint32_t payload_stride; /* estimators: bytes from one sample's payload to the next */
    uint64_t bindings_offset, bindings_bytes;  /* estimators: of setup.estimator.inputs, by oto_bindings_pack */
    uint64_t samples_offset,
        payloads_offset; /* estimators: the samples of a step, and their payloads in the same order */
    uint64_t instants_offset;                  /* motions: offset of struct srv_host_instant[SRV_HOST_INSTANTS] */
    uint64_t controls_offset; /* motions that take controls: offset of struct srv_host_controls[SRV_HOST_CATCH_UP]; else 0 */
    /* written by the server for each request */
    uint32_t due;
    uint32_t take; /* enum srv_host_take */
    uint64_t tick, n;
    struct oto_instant at;
    struct oto_sensor_input input;
    uint32_t sample_count;
    uint32_t step_count;    /* motions: number of ticks to move; `schedule` is the end of the first; may be 0 */
    uint32_t instant_count; /* motions: truths to evaluate after the steps; with SRV_SLOT_FRESH also at the start */
    uint32_t controls_count; /* motions: controls for the steps of this request, in their order */
    struct srv_schedule schedule;
    /* written by both: outputs before and after the step */
    struct srv_host_output outputs[OTO_PLUGIN_MAX_PORTS];
    /* written by the plugin host */
    uint32_t status;
    uint32_t taken;  /* enum srv_host_take_result */
    int64_t step_ns; /* processor time of the step */
    uint32_t unsaved; /* set before READY: the state does not hold everything, so no checkpoint may contain it */
    uint32_t reserved_end;
};

_Static_assert(sizeof(struct srv_host_mailbox) <= SRV_HOST_HEAD_BYTES, "the head fits its page");
_Static_assert(sizeof(struct srv_host_slot) % 8 == 0, "slots are whole words");

static inline struct srv_host_slot *srv_host_slot_at(struct srv_host_mailbox *mailbox, uint32_t index)
{
    return (struct srv_host_slot *)(void *)((unsigned char *)mailbox + SRV_HOST_HEAD_BYTES) + index;
}

/* ---- messages of the control socket (SOCK_SEQPACKET) ---- */

enum srv_host_work { SRV_HOST_RUN = 1, SRV_HOST_PROBE = 2, SRV_HOST_DESCRIBE = 3, SRV_HOST_LOAD = 4 };

/* The first message, with descriptors: the mailbox (or job), then the sealed plugin copies. */
struct srv_host_start_message {
    uint64_t magic; /* SRV_HOST_MAGIC */
    uint32_t version;
    uint32_t work; /* enum srv_host_work */
    uint32_t plugin_count;
    int32_t server_pid;
    uint64_t bytes; /* size of the memory of the first descriptor */
    int32_t fifo_priority; /* priority for SCHED_FIFO, if permitted; 0: none */
    uint32_t reserved;
    char own_directory[SRV_HOST_DIRECTORY_BYTES]; /* where the host may write files; "": nowhere */
};

enum srv_host_message_kind { SRV_HOST_READY = 1, SRV_HOST_FAILED = 2, SRV_HOST_WARNS = 3 };

struct srv_host_message {
    uint32_t kind;   /* enum srv_host_message_kind */
    uint32_t slot;   /* UINT32_MAX: none */
    uint32_t status; /* enum oto_status */
    uint32_t bytes;  /* size of the answer in the memory of the first descriptor */
    uint32_t landlock; /* in message READY: ABI version of Landlock in force, 0: none */
    char text[400];
};

#endif
