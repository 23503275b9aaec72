/* Shared by the files of the writer. */
#ifndef OTO_MCAP_WRITER_PRIVATE_H
#define OTO_MCAP_WRITER_PRIVATE_H

#include <zstd.h>

#include "mcap/bytes.h"
#include "mcap/writer.h"

struct oto_mcap_written_channel {
    uint64_t messages;
    struct oto_mcap_bytes index; /* entries of the current chunk: u64 time, u64 offset */
};

struct oto_mcap_writer {
    struct oto_mcap_options options;
    uint64_t offset;       /* complete bytes of the file */
    uint32_t data_crc;     /* CRC of these bytes */
    int write_error;       /* errno of the write that failed */
    /* the current chunk */
    struct oto_mcap_bytes chunk;
    uint64_t chunk_messages, chunk_start_ns, chunk_end_ns;
    ZSTD_CCtx *zstd;
    struct oto_mcap_bytes compressed, head, indexes;
    /* the summary, record by record */
    struct oto_mcap_bytes schemas, channels, chunk_indexes, attachment_indexes, metadata_indexes;
    struct oto_mcap_written_channel *counts; /* of channel i + 1 */
    uint32_t schema_count, channel_count, chunk_count, attachment_count, metadata_count;
    uint64_t message_count, start_ns, end_ns;
};

/* A part of one write to the file. has_crc: the CRC of the part is known and need not be computed again. */
struct oto_mcap_part {
    const struct oto_mcap_bytes *bytes;
    bool has_crc;
    uint32_t crc;
};
/* Writes the parts behind each other, completely or not at all. */
enum oto_status oto_mcap_append(struct oto_mcap_writer *writer, const struct oto_mcap_part *parts, uint32_t count,
                                struct oto_error *error);
enum oto_status oto_mcap_writer_failed(const struct oto_mcap_writer *writer, struct oto_error *error);
static inline bool oto_mcap_has(const struct oto_mcap_writer *writer, enum oto_mcap_parts part)
{
    return (writer->options.parts & part) != 0;
}

#endif
