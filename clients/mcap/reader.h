/*
 * Reads an MCAP file: from its summary, or, where a killed writer left none, by one pass over its records up to the last
 * complete one. A chunk whose bytes are damaged is skipped and counted; the others are read. Sizes that a file claims are
 * limited before memory is reserved. Messages come in the order of their log time. One thread at a time.
 */
#ifndef OTO_MCAP_READER_H
#define OTO_MCAP_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcap/format.h"
#include "otolith/status.h"

#define OTO_MCAP_MOST_CHUNK_BYTES (UINT64_C(256) << 20)
#define OTO_MCAP_MOST_ATTACHMENT_BYTES (UINT64_C(1) << 30)

struct oto_mcap_reader;

struct oto_mcap_read_schema {
    uint16_t id;
    char *name, *encoding;
    unsigned char *data;
    uint32_t bytes;
};

struct oto_mcap_read_channel {
    uint16_t id, schema;
    char *topic, *message_encoding;
    uint64_t messages; /* number in the statistics; 0 if the file has no statistics */
};

struct oto_mcap_facts {
    char *profile, *library;
    bool has_summary;       /* false: the writer did not finish the file */
    uint64_t complete_bytes; /* up to the end of the last complete record */
    uint64_t file_bytes;
    uint64_t start_ns, end_ns; /* of the messages */
    uint32_t chunk_count;
    uint32_t damaged_chunks; /* found so far */
};

enum oto_status oto_mcap_reader_open(const char *path, struct oto_mcap_reader **reader, struct oto_error *error);
/* oto_mcap_reader_open for an open file, which the reader closes later; `path` is the name in messages. */
enum oto_status oto_mcap_reader_open_fd(int fd, const char *path, struct oto_mcap_reader **reader, struct oto_error *error);
void oto_mcap_reader_close(struct oto_mcap_reader *reader); /* NULL is allowed */
const struct oto_mcap_facts *oto_mcap_reader_facts(const struct oto_mcap_reader *reader);

uint32_t oto_mcap_reader_channel_count(const struct oto_mcap_reader *reader);
const struct oto_mcap_read_channel *oto_mcap_reader_channel_at(const struct oto_mcap_reader *reader, uint32_t index);
/* A channel or schema by its id; NULL: the file does not have it. */
const struct oto_mcap_read_channel *oto_mcap_reader_channel(const struct oto_mcap_reader *reader, uint16_t id);
const struct oto_mcap_read_schema *oto_mcap_reader_schema(const struct oto_mcap_reader *reader, uint16_t id);

/* Attachments in the order of the file. */
uint32_t oto_mcap_reader_attachment_count(const struct oto_mcap_reader *reader);
const char *oto_mcap_reader_attachment_name(const struct oto_mcap_reader *reader, uint32_t index);
/* Reads an attachment and adds a NUL; the caller frees *data. OTO_CORRUPT: the attachment is damaged. */
enum oto_status oto_mcap_reader_attachment(struct oto_mcap_reader *reader, uint32_t index, unsigned char **data,
                                           size_t *bytes, struct oto_error *error);

/* A message, valid until the next call on the reader. */
struct oto_mcap_read_message {
    uint16_t channel;
    uint32_t sequence;
    uint64_t log_time_ns, publish_time_ns;
    const unsigned char *data;
    size_t bytes;
};
/* The next message; OTO_CLOSED after the last one. */
enum oto_status oto_mcap_reader_next(struct oto_mcap_reader *reader, struct oto_mcap_read_message *message,
                                     struct oto_error *error);
/* Makes oto_mcap_reader_next return messages in the order of the file, not of log time. To be called before the first message. */
void oto_mcap_reader_as_written(struct oto_mcap_reader *reader);
/* Continues with the first message at or after a log time. */
void oto_mcap_reader_seek(struct oto_mcap_reader *reader, uint64_t log_time_ns);

#endif
