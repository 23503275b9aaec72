/*
 * Writes an MCAP file: schemas, channels, messages in chunks, attachments, metadata, indexes, statistics and CRCs.
 *
 * A recording must survive SIGKILL and a full disk. The file therefore grows under its own name, and every write to it is a
 * whole chunk with its message indexes, or a whole attachment or metadata record: earlier data is complete, and
 * readers recover it without the summary, which oto_mcap_writer_finish adds. After a write that failed a regular file is
 * truncated to its last complete record, nothing more is written, and every function returns the error. One thread at a time.
 */
#ifndef OTO_MCAP_WRITER_H
#define OTO_MCAP_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcap/format.h"
#include "otolith/status.h"

/* Optional parts of a file. A recording has all of them; the tests of the format leave some out. */
enum oto_mcap_parts {
    OTO_MCAP_CHUNKS = 1u << 0,
    OTO_MCAP_MESSAGE_INDEXES = 1u << 1,
    OTO_MCAP_CHUNK_INDEXES = 1u << 2,
    OTO_MCAP_STATISTICS_RECORD = 1u << 3,
    OTO_MCAP_SUMMARY_OFFSETS = 1u << 4,
    OTO_MCAP_REPEATED_SCHEMAS = 1u << 5,
    OTO_MCAP_REPEATED_CHANNELS = 1u << 6,
    OTO_MCAP_ATTACHMENT_INDEXES = 1u << 7,
    OTO_MCAP_METADATA_INDEXES = 1u << 8,
    OTO_MCAP_ALL_PARTS = (1u << 9) - 1
};

struct oto_mcap_options {
    int fd;           /* borrowed; written from its current position, which is the start of the file */
    const char *path; /* for messages; borrowed */
    const char *profile, *library;
    uint32_t parts;      /* enum oto_mcap_parts */
    int zstd_level;      /* 0: chunks are not compressed */
    size_t chunk_bytes;  /* a chunk is written when it has reached this size */
};

struct oto_mcap_writer;

enum oto_status oto_mcap_writer_open(const struct oto_mcap_options *options, struct oto_mcap_writer **writer,
                                     struct oto_error *error);
/* Adds a schema or channel and gets its id. Texts are copied. Schema 0: the channel has no schema. */
enum oto_status oto_mcap_add_schema(struct oto_mcap_writer *writer, const char *name, const char *encoding, const void *data,
                                    size_t bytes, uint16_t *schema, struct oto_error *error);
struct oto_mcap_channel_spec {
    uint16_t schema;
    const char *topic, *message_encoding;
    const struct oto_mcap_pair *metadata;
    uint32_t metadata_count;
};
enum oto_status oto_mcap_add_channel(struct oto_mcap_writer *writer, const struct oto_mcap_channel_spec *spec,
                                     uint16_t *channel, struct oto_error *error);

struct oto_mcap_message {
    uint16_t channel;
    uint32_t sequence;
    uint64_t log_time_ns, publish_time_ns;
    const void *data;
    size_t bytes;
    bool with_next; /* the next message is written to the same chunk, so that damage takes both or neither */
};
enum oto_status oto_mcap_write(struct oto_mcap_writer *writer, const struct oto_mcap_message *message,
                               struct oto_error *error);
/* Ends the current chunk and writes it. */
enum oto_status oto_mcap_flush(struct oto_mcap_writer *writer, struct oto_error *error);

struct oto_mcap_attachment {
    uint64_t log_time_ns, create_time_ns;
    const char *name, *media_type;
    const void *data;
    size_t bytes;
};
/* Ends the current chunk, so that attachments and messages keep their order, and writes an attachment. */
enum oto_status oto_mcap_attach(struct oto_mcap_writer *writer, const struct oto_mcap_attachment *attachment,
                                struct oto_error *error);
enum oto_status oto_mcap_add_metadata(struct oto_mcap_writer *writer, const char *name, const struct oto_mcap_pair *pairs,
                                      uint32_t count, struct oto_error *error);

/* Writes the last chunk, the summary and the footer. The caller closes the writer afterwards. */
enum oto_status oto_mcap_writer_finish(struct oto_mcap_writer *writer, struct oto_error *error);
/* Number of messages written so far to a channel; channel 0: to all channels. */
uint64_t oto_mcap_writer_messages(const struct oto_mcap_writer *writer, uint16_t channel);
/* Bytes of the file that are complete. */
uint64_t oto_mcap_writer_bytes(const struct oto_mcap_writer *writer);
void oto_mcap_writer_close(struct oto_mcap_writer *writer); /* NULL is allowed */

#endif
