/* Shared by the files of the reader. */
#ifndef OTO_MCAP_READER_PRIVATE_H
#define OTO_MCAP_READER_PRIVATE_H

#include "mcap/bytes.h"
#include "mcap/reader.h"

enum { OTO_MCAP_MOST_ACTIVE = 64 };

enum oto_mcap_compression { OTO_MCAP_PLAIN = 0, OTO_MCAP_ZSTD = 1, OTO_MCAP_UNKNOWN_COMPRESSION = 2 };

/* Where the records of a chunk are. Messages outside chunks are one plain chunk without a CRC. */
struct oto_mcap_read_chunk {
    uint64_t records_offset, records_bytes, plain_bytes;
    uint64_t start_ns, end_ns;
    enum oto_mcap_compression compression;
    uint32_t crc; /* 0: not computed */
};

struct oto_mcap_read_attachment {
    uint64_t offset, length; /* of the record */
    char *name;
};

/* A message in a loaded chunk. */
struct oto_mcap_entry {
    uint64_t log_time_ns;
    uint32_t offset, length; /* of the record's contents */
};

/* A chunk in memory whose messages are being read. */
struct oto_mcap_active {
    uint32_t chunk;
    unsigned char *data;
    struct oto_mcap_entry *entries;
    size_t count, next;
};

struct oto_mcap_reader {
    int fd;
    char *path;
    struct oto_mcap_facts facts;
    struct oto_mcap_read_schema *schemas;
    struct oto_mcap_read_channel *channels;
    uint32_t schema_count, channel_count;
    struct oto_mcap_read_chunk *chunks; /* by start time */
    uint32_t chunk_count;
    struct oto_mcap_read_attachment *attachments;
    uint32_t attachment_count;
    uint64_t announced_messages; /* by the statistics */
    uint32_t announced_attachments, announced_chunks;
    uint8_t *damaged; /* one for each chunk; 1: its damage has been counted */
    /* messages */
    struct oto_mcap_active active[OTO_MCAP_MOST_ACTIVE];
    uint32_t active_count, next_chunk;
    uint64_t from_ns;
    bool as_written;
};

/* Reads bytes at an offset; the caller frees them. NULL: beyond the end of the file, or out of memory. */
unsigned char *oto_mcap_load(const struct oto_mcap_reader *reader, uint64_t offset, uint64_t bytes);
/* Reads, decompresses and checks the records of a chunk; the caller frees them. NULL: damaged, or out of memory. */
unsigned char *oto_mcap_load_chunk(const struct oto_mcap_reader *reader, const struct oto_mcap_read_chunk *chunk);
enum oto_status oto_mcap_reader_no_memory(const struct oto_mcap_reader *reader, struct oto_error *error);

/* ---- reader_record.c: contents of single records ---- */

/* Adds a schema or channel unless its id is known. False: the record is damaged, or out of memory. */
bool oto_mcap_take_schema(struct oto_mcap_reader *reader, struct oto_mcap_cursor contents);
bool oto_mcap_take_channel(struct oto_mcap_reader *reader, struct oto_mcap_cursor contents);
bool oto_mcap_take_statistics(struct oto_mcap_reader *reader, struct oto_mcap_cursor contents);
bool oto_mcap_take_chunk_index(struct oto_mcap_reader *reader, struct oto_mcap_cursor contents);
bool oto_mcap_take_attachment_index(struct oto_mcap_reader *reader, struct oto_mcap_cursor contents);
/* Reads the part of a chunk record before its records; `offset` is that of the contents. */
bool oto_mcap_take_chunk_head(struct oto_mcap_cursor *contents, uint64_t offset, struct oto_mcap_read_chunk *chunk);
bool oto_mcap_add_chunk(struct oto_mcap_reader *reader, const struct oto_mcap_read_chunk *chunk);
bool oto_mcap_add_attachment(struct oto_mcap_reader *reader, uint64_t offset, uint64_t length, char *name);
/* Takes the opcode and contents of the next record. False: no record is left, or it is incomplete. */
bool oto_mcap_next_record(struct oto_mcap_cursor *records, uint8_t *opcode, struct oto_mcap_cursor *contents);

/* ---- reader_scan.c ---- */

/* Finds all schemas, channels, chunks and attachments without a summary. */
enum oto_status oto_mcap_scan(struct oto_mcap_reader *reader, struct oto_error *error);

#endif
