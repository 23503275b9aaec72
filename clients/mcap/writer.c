#include "mcap/writer_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { MOST_PARTS = 4 };

/* ---- the file ---- */

enum oto_status oto_mcap_writer_failed(const struct oto_mcap_writer *writer, struct oto_error *error)
{
    return writer->write_error == ENOMEM
               ? oto_fail(error, OTO_NO_MEMORY, "no memory to write '%.256s'", writer->options.path)
               : oto_fail(error, OTO_IO, "cannot write '%.256s': %s; it is complete up to its byte %" PRIu64,
                          writer->options.path, strerror(writer->write_error), writer->offset);
}

/* Writes all parts; returns 0 or an errno. */
static int write_all(int fd, struct iovec *parts, int count)
{
    while (count > 0) {
        const ssize_t written = writev(fd, parts, count);
        if (written < 0 && errno != EINTR) {
            return errno;
        }
        size_t done = written > 0 ? (size_t)written : 0;
        for (; count > 0 && done >= parts->iov_len; count--, parts++) {
            done -= parts->iov_len;
        }
        if (count > 0) {
            parts->iov_base = (unsigned char *)parts->iov_base + done;
            parts->iov_len -= done;
        }
    }
    return 0;
}

/* Stores the error of a write and cuts off an incomplete record at the end of the file. */
static void fail(struct oto_mcap_writer *writer, int reason)
{
    struct stat info;
    writer->write_error = reason;
    if (fstat(writer->options.fd, &info) == 0 && S_ISREG(info.st_mode)) {
        (void)ftruncate(writer->options.fd, (off_t)writer->offset);
    }
}

enum oto_status oto_mcap_append(struct oto_mcap_writer *writer, const struct oto_mcap_part *parts, uint32_t count,
                                struct oto_error *error)
{
    struct iovec vectors[MOST_PARTS];
    uint64_t bytes = 0;
    if (writer->write_error != 0) {
        return oto_mcap_writer_failed(writer, error);
    }
    for (uint32_t i = 0; i < count; i++) {
        vectors[i] = (struct iovec){.iov_base = parts[i].bytes->data, .iov_len = parts[i].bytes->bytes};
        bytes += parts[i].bytes->bytes;
        writer->write_error = parts[i].bytes->failed ? ENOMEM : writer->write_error;
    }
    const int reason = writer->write_error != 0 ? writer->write_error : write_all(writer->options.fd, vectors, (int)count);
    if (reason != 0) {
        fail(writer, reason);
        return oto_mcap_writer_failed(writer, error);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct oto_mcap_bytes *part = parts[i].bytes;
        writer->data_crc = parts[i].has_crc ? (uint32_t)crc32_combine(writer->data_crc, parts[i].crc, (z_off_t)part->bytes)
                                            : oto_mcap_crc32(writer->data_crc, part->data, part->bytes);
    }
    writer->offset += bytes;
    return OTO_OK;
}

/* ---- opening ---- */

enum oto_status oto_mcap_writer_open(const struct oto_mcap_options *options, struct oto_mcap_writer **out,
                                     struct oto_error *error)
{
    struct oto_mcap_writer *writer = calloc(1, sizeof *writer);
    *out = NULL;
    if (writer == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory to write '%.256s'", options->path);
    }
    writer->options = *options;
    writer->zstd = options->zstd_level != 0 ? ZSTD_createCCtx() : NULL;
    if (writer->zstd != NULL) {
        (void)ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, options->zstd_level);
    }
    oto_mcap_put(&writer->head, OTO_MCAP_MAGIC, OTO_MCAP_MAGIC_BYTES);
    const size_t begin = oto_mcap_begin_record(&writer->head, OTO_MCAP_HEADER);
    oto_mcap_put_text(&writer->head, options->profile);
    oto_mcap_put_text(&writer->head, options->library);
    oto_mcap_end_record(&writer->head, begin);
    const struct oto_mcap_part part = {.bytes = &writer->head};
    const enum oto_status status = options->zstd_level != 0 && writer->zstd == NULL
                                       ? oto_fail(error, OTO_NO_MEMORY, "no memory to compress '%.256s'", options->path)
                                       : oto_mcap_append(writer, &part, 1, error);
    if (status != OTO_OK) {
        oto_mcap_writer_close(writer);
        return status;
    }
    *out = writer;
    return OTO_OK;
}

void oto_mcap_writer_close(struct oto_mcap_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    struct oto_mcap_bytes *const buffers[] = {&writer->chunk, &writer->compressed, &writer->head, &writer->indexes,
                                              &writer->schemas, &writer->channels, &writer->chunk_indexes,
                                              &writer->attachment_indexes, &writer->metadata_indexes};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        oto_mcap_bytes_free(buffers[i]);
    }
    for (uint32_t i = 0; i < writer->channel_count; i++) {
        oto_mcap_bytes_free(&writer->counts[i].index);
    }
    (void)ZSTD_freeCCtx(writer->zstd);
    free(writer->counts);
    free(writer);
}

uint64_t oto_mcap_writer_bytes(const struct oto_mcap_writer *writer)
{
    return writer->offset;
}

uint64_t oto_mcap_writer_messages(const struct oto_mcap_writer *writer, uint16_t channel)
{
    return channel == 0 ? writer->message_count : channel <= writer->channel_count ? writer->counts[channel - 1].messages : 0;
}

/* ---- chunks ---- */

/* Compresses the records of the chunk. False: they stay as they are. */
static bool compress_chunk(struct oto_mcap_writer *writer)
{
    struct oto_mcap_bytes *to = &writer->compressed;
    const size_t room = ZSTD_compressBound(writer->chunk.bytes);
    to->bytes = 0;
    if (writer->zstd == NULL || oto_mcap_bytes_room(to, room) == NULL) {
        return false;
    }
    to->bytes = ZSTD_compress2(writer->zstd, to->data, room, writer->chunk.data, writer->chunk.bytes);
    return ZSTD_isError(to->bytes) == 0;
}

static void put_message_indexes(struct oto_mcap_writer *writer)
{
    writer->indexes.bytes = 0;
    for (uint32_t i = 0; i < writer->channel_count && oto_mcap_has(writer, OTO_MCAP_MESSAGE_INDEXES); i++) {
        const struct oto_mcap_bytes *entries = &writer->counts[i].index;
        if (entries->bytes == 0) {
            continue;
        }
        const size_t begin = oto_mcap_begin_record(&writer->indexes, OTO_MCAP_MESSAGE_INDEX);
        oto_mcap_put_u16(&writer->indexes, (uint16_t)(i + 1));
        oto_mcap_put_u32(&writer->indexes, (uint32_t)entries->bytes);
        oto_mcap_put(&writer->indexes, entries->data, entries->bytes);
        oto_mcap_end_record(&writer->indexes, begin);
    }
}

/* `chunk_bytes`: size of the chunk record. The message indexes follow the chunk record in the order of the channels. */
static void put_chunk_index(struct oto_mcap_writer *writer, const char *compression, uint64_t chunk_bytes,
                            uint64_t records_bytes)
{
    struct oto_mcap_bytes *to = &writer->chunk_indexes;
    uint64_t offset = writer->offset + chunk_bytes;
    const size_t begin = oto_mcap_begin_record(to, OTO_MCAP_CHUNK_INDEX);
    oto_mcap_put_u64(to, writer->chunk_start_ns);
    oto_mcap_put_u64(to, writer->chunk_end_ns);
    oto_mcap_put_u64(to, writer->offset);
    oto_mcap_put_u64(to, chunk_bytes);
    const size_t map = to->bytes;
    oto_mcap_put_u32(to, 0);
    for (uint32_t i = 0; i < writer->channel_count && writer->indexes.bytes > 0; i++) {
        const size_t entries = writer->counts[i].index.bytes;
        if (entries > 0) {
            oto_mcap_put_u16(to, (uint16_t)(i + 1));
            oto_mcap_put_u64(to, offset);
            offset += OTO_MCAP_RECORD_HEAD_BYTES + 6 + entries;
        }
    }
    const uint32_t map_bytes = (uint32_t)(to->bytes - map - sizeof map_bytes);
    if (!to->failed) {
        memcpy(to->data + map, &map_bytes, sizeof map_bytes);
    }
    oto_mcap_put_u64(to, writer->indexes.bytes);
    oto_mcap_put_text(to, compression);
    oto_mcap_put_u64(to, records_bytes);
    oto_mcap_put_u64(to, writer->chunk.bytes);
    oto_mcap_end_record(to, begin);
}

static void clear_chunk(struct oto_mcap_writer *writer)
{
    writer->chunk.bytes = 0;
    writer->chunk_messages = 0;
    writer->chunk_start_ns = 0;
    writer->chunk_end_ns = 0;
    for (uint32_t i = 0; i < writer->channel_count; i++) {
        writer->counts[i].index.bytes = 0;
    }
}

enum oto_status oto_mcap_flush(struct oto_mcap_writer *writer, struct oto_error *error)
{
    if (writer->chunk.bytes == 0 || writer->write_error != 0) {
        return writer->write_error != 0 ? oto_mcap_writer_failed(writer, error) : OTO_OK;
    }
    struct oto_mcap_bytes *head = &writer->head;
    const bool is_compressed = compress_chunk(writer);
    const struct oto_mcap_bytes *records = is_compressed ? &writer->compressed : &writer->chunk;
    const char *compression = is_compressed ? "zstd" : "";
    const uint32_t crc = oto_mcap_crc32(0, writer->chunk.data, writer->chunk.bytes);
    put_message_indexes(writer);
    head->bytes = 0;
    const size_t begin = oto_mcap_begin_record(head, OTO_MCAP_CHUNK);
    oto_mcap_put_u64(head, writer->chunk_start_ns);
    oto_mcap_put_u64(head, writer->chunk_end_ns);
    oto_mcap_put_u64(head, writer->chunk.bytes);
    oto_mcap_put_u32(head, crc);
    oto_mcap_put_text(head, compression);
    oto_mcap_put_u64(head, records->bytes);
    const uint64_t length = head->bytes - begin + records->bytes;
    if (!head->failed) {
        memcpy(head->data + begin - sizeof length, &length, sizeof length);
    }
    if (oto_mcap_has(writer, OTO_MCAP_CHUNK_INDEXES)) {
        put_chunk_index(writer, compression, OTO_MCAP_RECORD_HEAD_BYTES + length, records->bytes);
    }
    const struct oto_mcap_part parts[] = {{.bytes = head}, {.bytes = records, .has_crc = !is_compressed, .crc = crc},
                                          {.bytes = &writer->indexes}};
    const enum oto_status status = oto_mcap_append(writer, parts, 3, error);
    writer->chunk_count += status == OTO_OK;
    clear_chunk(writer);
    return status;
}

/* ---- records ---- */

/* Schemas, channels and messages go into the chunk; without chunks they are written at once. */
static enum oto_status end_data_record(struct oto_mcap_writer *writer, bool full, struct oto_error *error)
{
    if (writer->chunk.failed) {
        writer->write_error = ENOMEM;
    }
    if (oto_mcap_has(writer, OTO_MCAP_CHUNKS)) {
        return full || writer->write_error != 0 ? oto_mcap_flush(writer, error) : OTO_OK;
    }
    const struct oto_mcap_part part = {.bytes = &writer->chunk};
    const enum oto_status status = oto_mcap_append(writer, &part, 1, error);
    clear_chunk(writer);
    return status;
}

enum oto_status oto_mcap_add_schema(struct oto_mcap_writer *writer, const char *name, const char *encoding, const void *data,
                                    size_t bytes, uint16_t *schema, struct oto_error *error)
{
    if (writer->schema_count == UINT16_MAX) {
        return oto_fail(error, OTO_LIMIT, "'%.256s' has 65535 schemas; a file cannot have more", writer->options.path);
    }
    struct oto_mcap_bytes *to = &writer->schemas;
    const size_t before = to->bytes, begin = oto_mcap_begin_record(to, OTO_MCAP_SCHEMA);
    *schema = (uint16_t)++writer->schema_count;
    oto_mcap_put_u16(to, *schema);
    oto_mcap_put_text(to, name);
    oto_mcap_put_text(to, encoding);
    oto_mcap_put_u32(to, (uint32_t)bytes);
    oto_mcap_put(to, data, bytes);
    oto_mcap_end_record(to, begin);
    if (!to->failed) {
        oto_mcap_put(&writer->chunk, to->data + before, to->bytes - before);
    }
    writer->chunk.failed = writer->chunk.failed || to->failed;
    return end_data_record(writer, false, error);
}

enum oto_status oto_mcap_add_channel(struct oto_mcap_writer *writer, const struct oto_mcap_channel_spec *spec,
                                     uint16_t *channel, struct oto_error *error)
{
    if (writer->channel_count == UINT16_MAX) {
        return oto_fail(error, OTO_LIMIT, "'%.256s' has 65535 channels; a file cannot have more", writer->options.path);
    }
    struct oto_mcap_written_channel *counts =
        realloc(writer->counts, (writer->channel_count + 1) * sizeof *counts);
    if (counts == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory to write '%.256s'", writer->options.path);
    }
    writer->counts = counts;
    counts[writer->channel_count++] = (struct oto_mcap_written_channel){0};
    *channel = (uint16_t)writer->channel_count;
    struct oto_mcap_bytes *to = &writer->channels;
    const size_t before = to->bytes, begin = oto_mcap_begin_record(to, OTO_MCAP_CHANNEL);
    oto_mcap_put_u16(to, *channel);
    oto_mcap_put_u16(to, spec->schema);
    oto_mcap_put_text(to, spec->topic);
    oto_mcap_put_text(to, spec->message_encoding);
    oto_mcap_put_pairs(to, spec->metadata, spec->metadata_count);
    oto_mcap_end_record(to, begin);
    if (!to->failed) {
        oto_mcap_put(&writer->chunk, to->data + before, to->bytes - before);
    }
    writer->chunk.failed = writer->chunk.failed || to->failed;
    return end_data_record(writer, false, error);
}

static void count_message(struct oto_mcap_writer *writer, const struct oto_mcap_message *message, uint64_t offset)
{
    struct oto_mcap_written_channel *channel = &writer->counts[message->channel - 1];
    const uint64_t time = message->log_time_ns;
    channel->messages++;
    oto_mcap_put_u64(&channel->index, time);
    oto_mcap_put_u64(&channel->index, offset);
    writer->chunk.failed = writer->chunk.failed || channel->index.failed;
    writer->chunk_start_ns = writer->chunk_messages == 0 || time < writer->chunk_start_ns ? time : writer->chunk_start_ns;
    writer->chunk_end_ns = time > writer->chunk_end_ns ? time : writer->chunk_end_ns;
    writer->chunk_messages++;
    writer->start_ns = writer->message_count == 0 || time < writer->start_ns ? time : writer->start_ns;
    writer->end_ns = time > writer->end_ns ? time : writer->end_ns;
    writer->message_count++;
}

enum oto_status oto_mcap_write(struct oto_mcap_writer *writer, const struct oto_mcap_message *message,
                               struct oto_error *error)
{
    struct {
        uint16_t channel;
        uint32_t sequence;
        uint64_t log_time_ns, publish_time_ns;
    } __attribute__((packed)) fixed = {message->channel, message->sequence, message->log_time_ns,
                                       message->publish_time_ns};
    if (message->channel == 0 || message->channel > writer->channel_count) {
        return oto_fail(error, OTO_INVALID, "a message of channel %u; the file has %u", message->channel,
                        writer->channel_count);
    }
    const uint64_t offset = writer->chunk.bytes, length = sizeof fixed + message->bytes;
    unsigned char *room = oto_mcap_bytes_room(&writer->chunk, OTO_MCAP_RECORD_HEAD_BYTES + length);
    if (room != NULL) {
        room[0] = OTO_MCAP_MESSAGE;
        memcpy(room + 1, &length, sizeof length);
        memcpy(room + OTO_MCAP_RECORD_HEAD_BYTES, &fixed, sizeof fixed);
        memcpy(room + OTO_MCAP_RECORD_HEAD_BYTES + sizeof fixed, message->data, message->bytes);
        count_message(writer, message, offset);
    }
    return end_data_record(writer, !message->with_next && writer->chunk.bytes >= writer->options.chunk_bytes, error);
}

enum oto_status oto_mcap_attach(struct oto_mcap_writer *writer, const struct oto_mcap_attachment *attachment,
                                struct oto_error *error)
{
    const enum oto_status status = oto_mcap_flush(writer, error);
    if (status != OTO_OK) {
        return status;
    }
    struct oto_mcap_bytes *to = &writer->head, *index = &writer->attachment_indexes;
    to->bytes = 0;
    const size_t begin = oto_mcap_begin_record(to, OTO_MCAP_ATTACHMENT);
    oto_mcap_put_u64(to, attachment->log_time_ns);
    oto_mcap_put_u64(to, attachment->create_time_ns);
    oto_mcap_put_text(to, attachment->name);
    oto_mcap_put_text(to, attachment->media_type);
    oto_mcap_put_u64(to, attachment->bytes);
    oto_mcap_put(to, attachment->data, attachment->bytes);
    if (!to->failed) {
        oto_mcap_put_u32(to, oto_mcap_crc32(0, to->data + begin, to->bytes - begin));
    }
    oto_mcap_end_record(to, begin);
    const size_t entry = oto_mcap_begin_record(index, OTO_MCAP_ATTACHMENT_INDEX);
    oto_mcap_put_u64(index, writer->offset);
    oto_mcap_put_u64(index, to->bytes);
    oto_mcap_put_u64(index, attachment->log_time_ns);
    oto_mcap_put_u64(index, attachment->create_time_ns);
    oto_mcap_put_u64(index, attachment->bytes);
    oto_mcap_put_text(index, attachment->name);
    oto_mcap_put_text(index, attachment->media_type);
    oto_mcap_end_record(index, entry);
    writer->attachment_count++;
    const struct oto_mcap_part part = {.bytes = to};
    return oto_mcap_append(writer, &part, 1, error);
}

enum oto_status oto_mcap_add_metadata(struct oto_mcap_writer *writer, const char *name, const struct oto_mcap_pair *pairs,
                                      uint32_t count, struct oto_error *error)
{
    const enum oto_status status = oto_mcap_flush(writer, error);
    if (status != OTO_OK) {
        return status;
    }
    struct oto_mcap_bytes *to = &writer->head, *index = &writer->metadata_indexes;
    to->bytes = 0;
    const size_t begin = oto_mcap_begin_record(to, OTO_MCAP_METADATA);
    oto_mcap_put_text(to, name);
    oto_mcap_put_pairs(to, pairs, count);
    oto_mcap_end_record(to, begin);
    const size_t entry = oto_mcap_begin_record(index, OTO_MCAP_METADATA_INDEX);
    oto_mcap_put_u64(index, writer->offset);
    oto_mcap_put_u64(index, to->bytes);
    oto_mcap_put_text(index, name);
    oto_mcap_end_record(index, entry);
    writer->metadata_count++;
    const struct oto_mcap_part part = {.bytes = to};
    return oto_mcap_append(writer, &part, 1, error);
}
