/*
 * The client library: attach to a running world, read its channels from shared memory without disturbing it, wait for
 * ticks, control it, and subscribe over nng from another machine. Publisher, command line and Python use it. A client,
 * reader or subscriber belongs to one thread at a time; different ones may be used in parallel.
 */
#ifndef OTOLITH_CLIENT_H
#define OTOLITH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/channel.h"
#include "otolith/ring.h"
#include "otolith/status.h"
#include "otolith/swap.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- finding worlds ---- */

/*
 * Writes the path of the runtime directory: $XDG_RUNTIME_DIR/otolith, else /run/user/<uid>/otolith, else
 * /tmp/otolith-<uid>.
 */
OTO_API enum oto_status oto_runtime_directory(char *path, size_t bytes, struct oto_error *error);

struct oto_world_entry {
    char name[OTO_WORLD_NAME_BYTES];
    int64_t pid;
    bool alive;
};
/* Fills up to `capacity` entries and returns the number of worlds; 0 with errno set if they cannot be listed. */
OTO_API size_t oto_worlds_list(struct oto_world_entry *entries, size_t capacity);

/* ---- a client of one world ---- */

struct oto_client;

/* PEM files for tls+tcp URLs. NULL: none. */
struct oto_tls_files {
    uint32_t size;
    const char *ca;   /* certificates of the authorities that sign the peer's certificate; NULL: those of the system */
    const char *cert; /* own certificate, followed by the certificates up to the authority; needs `key` */
    const char *key;  /* private key of `cert`: a file that only its user can read */
    const char *crl;  /* revocation lists of every authority of a chain; NULL: revocation is not checked */
};

struct oto_client_options {
    uint32_t size;
    int32_t timeout_ms;      /* timeout of connecting and of each request; 0: 20000 */
    const char *world;       /* NULL: OTOLITH_WORLD, else the only running world; an error lists the candidates */
    const char *socket_path; /* control socket, used instead of `world`; NULL: none */
    const char *name;        /* name of the client in events; NULL: the program's name */
    const char *role;        /* requests at most this role: observe, operate or admin; NULL: the role of the user */
    /*
     * tls+tcp://host:port: controls a world on another machine, with the role of the certificate in `tls`. Such a client has
     * oto_control_… only: no channels, clock, wait or reattaching (OTO_UNSUPPORTED), no participant, no lossless reading.
     */
    const char *url;
    const struct oto_tls_files *tls;
};

OTO_API enum oto_status oto_client_open(const struct oto_client_options *options, struct oto_client **client,
                                        struct oto_error *error);
OTO_API void oto_client_close(struct oto_client *client); /* NULL is allowed */

/* The mapped header; valid until close or oto_client_reattach, also after the server's death. */
OTO_API const struct oto_segment_header *oto_client_header(const struct oto_client *client);
/* True if the server still runs (from socket and pid, not a heartbeat). */
OTO_API bool oto_client_server_alive(struct oto_client *client);
/* True if the run has ended or faulted, or its server has died: there will be no further tick. */
OTO_API bool oto_client_run_is_over(const struct oto_client *client);
OTO_API enum oto_status oto_client_clock(const struct oto_client *client, struct oto_clock *clock);
/* Waits for the tick after `tick`, at most timeout_ms. OTO_OK, OTO_TIMEOUT, OTO_CLOSED (ended or died). */
OTO_API enum oto_status oto_client_wait_tick(struct oto_client *client, uint64_t tick, int32_t timeout_ms);

/*
 * Follows a world to its next run. A run may be followed by another of the same world, with another epoch: its server
 * died and was restarted (`otolithd --supervise`), somebody restarted it under the same name, or it was restored from a
 * checkpoint (oto_control_restore). This function waits until the run is over and the next one has started, at most
 * timeout_ms, and attaches the same client to it, with the same name and role. Each OTO_OK is one new epoch.
 *
 * The memory of the old run is unmapped: read it before (until OTO_AGAIN). Afterwards
 * - channels keep their addresses and show the new run. A channel that the new run does not have, or has with another
 *   record type, has view.ring NULL and returns OTO_UNSUPPORTED, until a later run has it again. oto_client_channel
 *   counts the channels of the new run.
 * - readers continue. If the new run continues the old one after a crash (same `lineage`), they continue after the last
 *   record read: the records between checkpoint and crash are computed again and not read twice, and records that no
 *   run holds any more are counted as lost. Otherwise, and always for events, numbering restarts: records are read from
 *   the oldest one available, and nothing is counted.
 * - lossless reading has ended: call oto_lossless_begin again.
 * - the client of a participant can read, but no longer takes part: join again.
 *
 * OTO_TIMEOUT: no run followed; OTO_CONFLICT: the run did not end; others as oto_client_open. In these cases nothing
 * has changed.
 */
OTO_API enum oto_status oto_client_reattach(struct oto_client *client, int32_t timeout_ms, struct oto_error *error);

/* ---- channels ---- */

/* Description of a channel: a checked copy that belongs to the client. */
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
    struct oto_ring_view view;   /* ring NULL: the current run has no such channel */
    uint64_t epoch;              /* epoch of the current run; 0 for a channel of a schema frame */
    uint64_t lineage;            /* lineage of the current run: records with equal lineage and number are equal (see
                                  * oto_client_reattach) */
};

OTO_API uint32_t oto_client_channel_count(const struct oto_client *client);
OTO_API const struct oto_channel *oto_client_channel(const struct oto_client *client, uint32_t index);
/*
 * Finds a channel by topic, or by node (its first channel), with or without the leading "world/". NULL with an error
 * that suggests a name.
 */
OTO_API const struct oto_channel *oto_client_find(const struct oto_client *client, const char *topic,
                                                  struct oto_error *error);

/* The plugin that fills a channel now. A swap changes it; struct oto_channel names the plugin at the time of attaching. */
OTO_API enum oto_status oto_client_channel_identity(const struct oto_client *client, const struct oto_channel *channel,
                                                    struct oto_channel_identity *identity);

/* ---- reading ---- */

OTO_API enum oto_status oto_channel_latest(const struct oto_channel *channel, struct oto_sample_head *head,
                                           void *payload, size_t payload_bytes);

enum oto_reader_start { OTO_READ_FROM_OLDEST = 0, OTO_READ_FROM_NOW = 1 };

struct oto_reader {
    const struct oto_channel *channel;
    struct oto_cursor cursor;
    uint64_t lineage; /* lineage of the runs whose records the cursor counts */
};
OTO_API struct oto_reader oto_reader_make(const struct oto_channel *channel, enum oto_reader_start start);
/* Reads the next record; OTO_OK, OTO_AGAIN, or OTO_CORRUPT. reader->cursor.lost counts the records overwritten unread. */
OTO_API enum oto_status oto_reader_next(struct oto_reader *reader, struct oto_sample_head *head, void *payload,
                                        size_t payload_bytes);
/* Reads up to `count` records into heads[] and payloads (each channel->type.bytes). Returns how many. */
OTO_API size_t oto_reader_read(struct oto_reader *reader, struct oto_sample_head *heads, void *payloads, size_t count);

/* Seq of the next record to read, in the run that the channel shows now: the argument of oto_lossless_acknowledge. */
OTO_API uint64_t oto_reader_position(struct oto_reader *reader);

/* One element of a field as a number (NaN for text). */
OTO_API double oto_field_number(const struct oto_field *field, const void *payload, uint32_t element);
/* Formats an element as text for CSV and CLI: %.17g for doubles. Returns the length. */
OTO_API size_t oto_field_format(const struct oto_field *field, const void *payload, uint32_t element, char *text,
                                size_t bytes);
/* Name of a column: "linear_acceleration.x", "orientation_covariance.0". */
OTO_API size_t oto_field_column(const struct oto_field *field, uint32_t element, char *text, size_t bytes);

/* ---- control: every change is applied at a tick boundary, which the reply contains ---- */

struct oto_reply {
    uint64_t tick;    /* tick from which the change applies */
    char text[4096];  /* the result as a sentence, or the requested value */
};

/*
 * Sends a request by its name, as "set", with its arguments as texts in the order of the table in server/README.md. An empty
 * text, or one that is missing at the end, leaves out an argument that may be absent. The calls below are the same requests.
 */
OTO_API enum oto_status oto_control_send(struct oto_client *client, const char *op, const char *const *texts, uint32_t count,
                                         struct oto_reply *reply, struct oto_error *error);
OTO_API enum oto_status oto_control_pause(struct oto_client *client, struct oto_reply *reply, struct oto_error *error);
OTO_API enum oto_status oto_control_resume(struct oto_client *client, struct oto_reply *reply, struct oto_error *error);
/* Runs n ticks, then pauses; replies when they are done. */
OTO_API enum oto_status oto_control_step(struct oto_client *client, uint64_t ticks, struct oto_reply *reply,
                                         struct oto_error *error);
OTO_API enum oto_status oto_control_scale(struct oto_client *client, double scale, struct oto_reply *reply,
                                          struct oto_error *error);
OTO_API enum oto_status oto_control_mode(struct oto_client *client, const char *mode, struct oto_reply *reply,
                                         struct oto_error *error);
/*
 * Continues a played recording (otolith play) at a simulated time: the run ends, and another one begins there, with a new epoch.
 * OTO_UNSUPPORTED: the world is live.
 */
OTO_API enum oto_status oto_control_seek(struct oto_client *client, int64_t t_ns, struct oto_reply *reply,
                                         struct oto_error *error);
/* Sets a parameter. `yaml` is its value, as in a world file; it is applied completely or not at all. */
OTO_API enum oto_status oto_control_set(struct oto_client *client, const char *node, const char *param,
                                        const char *yaml, struct oto_reply *reply, struct oto_error *error);

#define OTO_PARAM_RANGE_BYTES 64

/* One parameter, described by the server. */
struct oto_param_info {
    char key[96];
    char value[512]; /* YAML flow text */
    char unit[32];
    char text[160];
    bool runtime; /* may change while running */
    char range[OTO_PARAM_RANGE_BYTES]; /* "0 to 100", or the accepted words "mems|mavs"; "": any value, or unknown */
};
typedef void (*oto_param_function)(void *context, const struct oto_param_info *info);
/* Gets a parameter; param NULL: all parameters of the node. */
OTO_API enum oto_status oto_control_get(struct oto_client *client, const char *node, const char *param,
                                        oto_param_function each, void *context, struct oto_error *error);
/* A swap with default options: with a probe and one simulated second of probation. */
OTO_API enum oto_status oto_control_swap(struct oto_client *client, const char *node, const char *plugin,
                                         struct oto_reply *reply, struct oto_error *error);

/* Swaps a node's plugin. *ticks (NULL is allowed) gets the number of ticks from the request to the flip. */
OTO_API enum oto_status oto_control_swap_with(struct oto_client *client, const char *node, const struct oto_swap *swap,
                                              struct oto_reply *reply, uint64_t *ticks, struct oto_error *error);
/*
 * Saves the world's state at a tick boundary to a file on the server's machine (absolute path), completely or not at
 * all.
 */
OTO_API enum oto_status oto_control_checkpoint(struct oto_client *client, const char *path, struct oto_reply *reply,
                                               struct oto_error *error);
/* Restores the world from a checkpoint: the server ends this run and starts another, with a new epoch and segment. */
OTO_API enum oto_status oto_control_restore(struct oto_client *client, const char *path, struct oto_reply *reply,
                                            struct oto_error *error);
/*
 * Injects a fault into a sensor's samples. `spec` is YAML, one item of a world's `faults:` list, as
 * "{kind: bias, value: 0.1, fields: angular_velocity.x, for_s: 5}"; the reply's text is "fault NUMBER".
 */
OTO_API enum oto_status oto_control_fault(struct oto_client *client, const char *node, const char *spec,
                                          struct oto_reply *reply, struct oto_error *error);
/* Ends a fault; number 0 ends all faults of the node. */
OTO_API enum oto_status oto_control_clear_faults(struct oto_client *client, const char *node, uint64_t fault,
                                                 struct oto_reply *reply, struct oto_error *error);
OTO_API enum oto_status oto_control_shutdown(struct oto_client *client, struct oto_reply *reply,
                                             struct oto_error *error);
/* Facts about the server as JSON in reply->text: endpoints, drivers, privileges, options. */
OTO_API enum oto_status oto_control_info(struct oto_client *client, struct oto_reply *reply, struct oto_error *error);
/* Requests a futex wake each tick (oto_client_wait_tick also does this at its first call). */
OTO_API enum oto_status oto_control_wake(struct oto_client *client, bool on, struct oto_error *error);

/* Lossless reading (modes asap and step): the tick waits for the cursors acknowledged here, at most 5 s. */
OTO_API enum oto_status oto_lossless_begin(struct oto_client *client, const struct oto_channel *const *channels,
                                           uint32_t count, struct oto_error *error);
/*
 * Acknowledges that every record of channel i before next[i] was read. Cheap: a datagram without a reply for each 1024 channels.
 * OTO_AGAIN: the server has not taken the earlier ones yet; acknowledge again later.
 */
OTO_API enum oto_status oto_lossless_acknowledge(struct oto_client *client, const uint64_t *next, uint32_t count);

/* ---- subscribing over the network ---- */

struct oto_subscriber;

/* One decoded sample. Pointers are valid until the next call on the subscriber. */
struct oto_wire_sample {
    const char *topic;
    uint64_t epoch;
    uint64_t lost; /* samples lost before this one, by seq */
    struct oto_sample_head head;
    const struct oto_record_type *type; /* NULL until a schema frame has arrived */
    const void *payload;                /* as in shared memory; NULL while type is NULL */
    const char *frame_id;
};

/*
 * `url`: "tcp://127.0.0.1:7450", "tls+tcp://host:7451", "ipc:///…"; `topic`: a topic, a prefix
 * ending in '/', or a pattern such as "car_0?/imu", whose stars and question marks match no slash. A host name is resolved in oto_subscriber_next, which then may take longer than its timeout.
 */
OTO_API enum oto_status oto_subscriber_open(const char *url, const char *topic, struct oto_subscriber **subscriber,
                                            struct oto_error *error);
/* As oto_subscriber_open, with files for tls+tcp, which this call reads once; `tls` may be NULL. */
OTO_API enum oto_status oto_subscriber_open_tls(const char *url, const char *topic, const struct oto_tls_files *tls,
                                                struct oto_subscriber **subscriber, struct oto_error *error);
OTO_API void oto_subscriber_close(struct oto_subscriber *subscriber);
/* Receives the next sample. OTO_OK, OTO_TIMEOUT, OTO_CORRUPT (an undecodable frame, which is counted: call again). */
OTO_API enum oto_status oto_subscriber_next(struct oto_subscriber *subscriber, int32_t timeout_ms,
                                            struct oto_wire_sample *sample, struct oto_error *error);
/*
 * True while a publisher answers. After a loss oto_subscriber_next reconnects. A restarted world shows by the `epoch`
 * of its samples.
 */
OTO_API bool oto_subscriber_is_up(const struct oto_subscriber *subscriber);

#ifdef __cplusplus
}
#endif

#endif
