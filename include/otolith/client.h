/*
 * The client library: attach to a running world, read its channels from shared memory without ever disturbing it, wait
 * for ticks, control it, and subscribe over nng from another machine. Everything else that reads a world (publisher,
 * CLI, Python) is built on this. A client, reader or subscriber belongs to one thread at a time; different ones may be
 * used in parallel.
 */
#ifndef OTOLITH_CLIENT_H
#define OTOLITH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/channel.h"
#include "otolith/segment.h"
#include "otolith/status.h"
#include "otolith/swap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- finding worlds ---- */

/* $XDG_RUNTIME_DIR/otolith, else /run/user/<uid>/otolith, else /tmp/otolith-<uid>. */
OTO_API enum oto_status oto_runtime_directory(char *path, size_t bytes, struct oto_error *error);

struct oto_world_entry {
    char name[OTO_WORLD_NAME_BYTES];
    int64_t pid;
    bool alive;
};
/* Fills up to `capacity` entries, returns how many worlds there are; 0 and errno where they cannot be listed. */
OTO_API size_t oto_worlds_list(struct oto_world_entry *entries, size_t capacity);

/* ---- a client of one world ---- */

struct oto_client;

struct oto_client_options {
    uint32_t size;
    int32_t timeout_ms;      /* of connecting and of each request; 0: 5000 */
    const char *world;       /* NULL: OTOLITH_WORLD, else the only running world; an error lists the candidates */
    const char *socket_path; /* instead of `world`; NULL */
    const char *name;        /* how the client calls itself in events; NULL: the program's name */
    const char *role;        /* observe, operate or admin: no more than this is wanted; NULL: what the user may */
};

OTO_API enum oto_status oto_client_open(const struct oto_client_options *options, struct oto_client **client,
                                        struct oto_error *error);
OTO_API void oto_client_close(struct oto_client *client); /* NULL is allowed */

/* The mapped header; valid until close or oto_client_reattach, also after the server's death. */
OTO_API const struct oto_segment_header *oto_client_header(const struct oto_client *client);
/* Whether the server still runs (kernel facts: socket and pid; not a heartbeat). */
OTO_API bool oto_client_server_alive(struct oto_client *client);
/* Whether the run has ended or faulted, or its server has died: then no tick will come any more. */
OTO_API bool oto_client_run_is_over(const struct oto_client *client);
OTO_API enum oto_status oto_client_clock(const struct oto_client *client, struct oto_clock *clock);
/* Waits for the tick after `tick`, at most timeout_ms. OTO_OK, OTO_TIMEOUT, OTO_CLOSED (ended or died). */
OTO_API enum oto_status oto_client_wait_tick(struct oto_client *client, uint64_t tick, int32_t timeout_ms);

/*
 * A run may be followed by another of the same world, with another epoch: its server died and is started again
 * (`otolithd --supervise`), somebody starts it again under the same name, or it goes on from a checkpoint
 * (oto_control_restore). This waits until the run is over and the next one is there, at most timeout_ms, and attaches
 * the same client to it, with the name and the role of before. Each OTO_OK is one new epoch.
 *
 * What stands in the old run's memory goes with it: read it before (until OTO_AGAIN). Afterwards
 * - channels stay where they are and show the new run. One that it has not, or with another record, has view.ring NULL
 *   and gives OTO_UNSUPPORTED, until a later run has it again. oto_client_channel counts the channels of the new run.
 * - readers go on by themselves. Where the new run continues the old one after a crash (`lineage` is the same), behind
 *   the last record read: what lies between checkpoint and crash is made again and not read twice, and what stands
 *   nowhere any more is counted as lost. Else, and for events always, records count anew and are read from the oldest
 *   that stands; nothing is counted.
 * - what the server held for the client is gone: oto_lossless_begin again.
 * - the client of a participant reads on, but takes part no more: join again.
 *
 * OTO_TIMEOUT: none came; OTO_CONFLICT: the run went on all the time; others as oto_client_open. Then all is as it was.
 */
OTO_API enum oto_status oto_client_reattach(struct oto_client *client, int32_t timeout_ms, struct oto_error *error);

/* ---- channels ---- */

/* A channel's description, private to the client, checked. */
struct oto_channel {
    uint32_t index;
    uint32_t node_index;
    uint32_t flags; /* OTO_CHANNEL_… */
    uint32_t capacity;
    char topic[OTO_TOPIC_BYTES];
    char node[OTO_TOPIC_BYTES];
    char plugin[32];
    char plugin_version[16];
    char frame_id[OTO_WORLD_NAME_BYTES];
    uint64_t type_hash;
    uint64_t rate_num, rate_den;
    struct oto_record_type type; /* name, bytes, fields */
    struct oto_ring_view view;   /* ring NULL: what is attached to has no such channel */
    uint64_t epoch;              /* of the run that is read; 0 for a channel that a schema frame told of */
    uint64_t lineage;            /* the same: a record of the same number is the same (see oto_client_reattach) */
};

OTO_API uint32_t oto_client_channel_count(const struct oto_client *client);
OTO_API const struct oto_channel *oto_client_channel(const struct oto_client *client, uint32_t index);
/* By topic, or by node (its first channel), with or without the leading "world/". NULL with an error that suggests. */
OTO_API const struct oto_channel *oto_client_find(const struct oto_client *client, const char *topic,
                                                  struct oto_error *error);

/* What fills a channel now: swaps change it, and `oto_channel` keeps what was when the client attached. */
OTO_API enum oto_status oto_client_channel_identity(const struct oto_client *client, const struct oto_channel *channel,
                                                    struct oto_channel_identity *identity);

/* ---- reading ---- */

OTO_API enum oto_status oto_channel_latest(const struct oto_channel *channel, struct oto_sample_head *head,
                                           void *payload, size_t payload_bytes);

enum oto_reader_start { OTO_READ_FROM_OLDEST = 0, OTO_READ_FROM_NOW = 1 };

struct oto_reader {
    const struct oto_channel *channel;
    struct oto_cursor cursor;
    uint64_t lineage; /* of the runs in which the cursor counts */
};
OTO_API struct oto_reader oto_reader_make(const struct oto_channel *channel, enum oto_reader_start start);
/* The next record; OTO_OK, OTO_AGAIN, or OTO_CORRUPT. reader->cursor.lost counts what was overwritten unread. */
OTO_API enum oto_status oto_reader_next(struct oto_reader *reader, struct oto_sample_head *head, void *payload,
                                        size_t payload_bytes);
/* Reads up to `count` records into heads[] and payloads (each channel->type.bytes). Returns how many. */
OTO_API size_t oto_reader_read(struct oto_reader *reader, struct oto_sample_head *heads, void *payloads, size_t count);

/* Seq of the next record to read, in the run that the channel shows now: what oto_lossless_acknowledge is to be told. */
OTO_API uint64_t oto_reader_position(struct oto_reader *reader);

/* One element of a field as a number (NaN for text). */
OTO_API double oto_field_number(const struct oto_field *field, const void *payload, uint32_t element);
/* As text for CSV and CLI: %.17g for doubles. Returns the length. */
OTO_API size_t oto_field_format(const struct oto_field *field, const void *payload, uint32_t element, char *text,
                                size_t bytes);
/* Name of a column: "linear_acceleration.x", "orientation_covariance.0". */
OTO_API size_t oto_field_column(const struct oto_field *field, uint32_t element, char *text, size_t bytes);

/* ---- control: every change is applied at a tick boundary, and the reply says which ---- */

struct oto_reply {
    uint64_t tick;    /* from which the change holds */
    char text[4096];  /* what was done, or the value asked for */
};

OTO_API enum oto_status oto_control_pause(struct oto_client *client, struct oto_reply *reply, struct oto_error *error);
OTO_API enum oto_status oto_control_resume(struct oto_client *client, struct oto_reply *reply, struct oto_error *error);
/* Runs n ticks and pauses; answers when they are done. */
OTO_API enum oto_status oto_control_step(struct oto_client *client, uint64_t ticks, struct oto_reply *reply,
                                         struct oto_error *error);
OTO_API enum oto_status oto_control_scale(struct oto_client *client, double scale, struct oto_reply *reply,
                                          struct oto_error *error);
OTO_API enum oto_status oto_control_mode(struct oto_client *client, const char *mode, struct oto_reply *reply,
                                         struct oto_error *error);
/* `yaml` as in a world file; all or nothing. */
OTO_API enum oto_status oto_control_set(struct oto_client *client, const char *node, const char *param,
                                        const char *yaml, struct oto_reply *reply, struct oto_error *error);

/* One parameter as the server describes it. */
struct oto_param_info {
    char key[96];
    char value[512]; /* YAML flow text */
    char unit[32];
    char text[160];
    bool runtime; /* may change while running */
};
typedef void (*oto_param_function)(void *context, const struct oto_param_info *info);
/* param NULL: all of the node. */
OTO_API enum oto_status oto_control_get(struct oto_client *client, const char *node, const char *param,
                                        oto_param_function each, void *context, struct oto_error *error);
/* A swap as it is by default: probed, and one simulated second on probation. */
OTO_API enum oto_status oto_control_swap(struct oto_client *client, const char *node, const char *plugin,
                                         struct oto_reply *reply, struct oto_error *error);

/* *ticks (NULL is allowed): from the request until it was live. */
OTO_API enum oto_status oto_control_swap_with(struct oto_client *client, const char *node, const struct oto_swap *swap,
                                              struct oto_reply *reply, uint64_t *ticks, struct oto_error *error);
/* Saves the world's state at a tick boundary to a file of the server's machine (absolute path), whole or not at all. */
OTO_API enum oto_status oto_control_checkpoint(struct oto_client *client, const char *path, struct oto_reply *reply,
                                               struct oto_error *error);
/* The world goes on from a checkpoint: the server closes this run and begins another, with a new epoch and segment. */
OTO_API enum oto_status oto_control_restore(struct oto_client *client, const char *path, struct oto_reply *reply,
                                            struct oto_error *error);
/*
 * Injects a fault into a sensor's samples. `spec` is YAML, one item of a world's `faults:` list, as
 * "{kind: bias, value: 0.1, fields: angular_velocity.x, for_s: 5}"; the reply's text is "fault NUMBER".
 */
OTO_API enum oto_status oto_control_fault(struct oto_client *client, const char *node, const char *spec,
                                          struct oto_reply *reply, struct oto_error *error);
/* Ends a fault; all of the node's with number 0. */
OTO_API enum oto_status oto_control_clear_faults(struct oto_client *client, const char *node, uint64_t fault,
                                                 struct oto_reply *reply, struct oto_error *error);
OTO_API enum oto_status oto_control_shutdown(struct oto_client *client, struct oto_reply *reply,
                                             struct oto_error *error);
/* The server's own facts as a JSON text in reply->text: endpoints, drivers, privileges, options. */
OTO_API enum oto_status oto_control_info(struct oto_client *client, struct oto_reply *reply, struct oto_error *error);
/* Asks for a futex wake each tick (also done by oto_client_wait_tick the first time). */
OTO_API enum oto_status oto_control_wake(struct oto_client *client, bool on, struct oto_error *error);

/* Lossless reading (modes asap and step): the tick waits for the cursors acknowledged here, at most 5 s. */
OTO_API enum oto_status oto_lossless_begin(struct oto_client *client, const struct oto_channel *const *channels,
                                           uint32_t count, struct oto_error *error);
/* Says that every record of channel i before next[i] was read. Cheap: a datagram without an answer. */
OTO_API enum oto_status oto_lossless_acknowledge(struct oto_client *client, const uint64_t *next, uint32_t count);

/* ---- subscribing over nng ---- */

struct oto_subscriber;

/* One decoded sample. Pointers live until the next call on the subscriber. */
struct oto_wire_sample {
    const char *topic;
    uint64_t epoch;
    uint64_t lost; /* samples missing before this one, by seq */
    struct oto_sample_head head;
    const struct oto_record_type *type; /* NULL until the schema frame has come */
    const void *payload;                /* as in shared memory; NULL while type is NULL */
    const char *frame_id;
};

/* `url` as nng takes it ("tcp://127.0.0.1:7450", "ipc:///…"); `topic` a topic or a prefix ending in '/'. */
OTO_API enum oto_status oto_subscriber_open(const char *url, const char *topic, struct oto_subscriber **subscriber,
                                            struct oto_error *error);
OTO_API void oto_subscriber_close(struct oto_subscriber *subscriber);
/* The next sample. OTO_OK, OTO_TIMEOUT, OTO_CORRUPT (a frame that cannot be decoded: counted, go on). */
OTO_API enum oto_status oto_subscriber_next(struct oto_subscriber *subscriber, int32_t timeout_ms,
                                            struct oto_wire_sample *sample, struct oto_error *error);
/*
 * Whether a publisher answers at the moment. One that went is dialled again by the next calls of oto_subscriber_next; a
 * world that came again shows by the `epoch` of its samples.
 */
OTO_API bool oto_subscriber_is_up(const struct oto_subscriber *subscriber);

#ifdef __cplusplus
}
#endif

#endif
