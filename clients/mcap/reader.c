#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/file_kind.h"
#include "mcap/reader_private.h"

#define MOST_SUMMARY_BYTES (UINT64_C(1) << 30)

/* ---- the file ---- */

unsigned char *oto_mcap_load(const struct oto_mcap_reader *reader, uint64_t offset, uint64_t bytes)
{
    if (offset > reader->facts.file_bytes || bytes > reader->facts.file_bytes - offset) {
        return NULL;
    }
    unsigned char *data = malloc((size_t)bytes + 1);
    size_t done = 0;
    while (data != NULL && done < bytes) {
        const ssize_t got = pread(reader->fd, data + done, (size_t)bytes - done, (off_t)(offset + done));
        if (got > 0) {
            done += (size_t)got;
        } else if (got == 0 || errno != EINTR) {
            free(data);
            return NULL;
        }
    }
    return data;
}

static unsigned char *decompress(const unsigned char *from, size_t bytes, size_t plain_bytes)
{
    unsigned char *data = malloc(plain_bytes + 1);
    if (data != NULL && ZSTD_decompress(data, plain_bytes, from, bytes) != plain_bytes) {
        free(data);
        return NULL;
    }
    return data;
}

unsigned char *oto_mcap_load_chunk(const struct oto_mcap_reader *reader, const struct oto_mcap_read_chunk *chunk)
{
    const bool plain = chunk->compression == OTO_MCAP_PLAIN;
    if (chunk->plain_bytes > OTO_MCAP_MOST_CHUNK_BYTES || chunk->records_bytes > OTO_MCAP_MOST_CHUNK_BYTES ||
        (plain && chunk->plain_bytes != chunk->records_bytes) || chunk->compression == OTO_MCAP_UNKNOWN_COMPRESSION) {
        return NULL;
    }
    unsigned char *data = oto_mcap_load(reader, chunk->records_offset, chunk->records_bytes);
    if (data != NULL && !plain) {
        unsigned char *packed = data;
        data = decompress(packed, (size_t)chunk->records_bytes, (size_t)chunk->plain_bytes);
        free(packed);
    }
    if (data != NULL && chunk->crc != 0 &&
        oto_mcap_crc32(0, data, (size_t)chunk->plain_bytes) != chunk->crc) {
        free(data);
        return NULL;
    }
    return data;
}

enum oto_status oto_mcap_reader_no_memory(const struct oto_mcap_reader *reader, struct oto_error *error)
{
    return oto_fail(error, OTO_NO_MEMORY, "no memory to read '%.256s'", reader->path);
}

/* ---- opening ---- */

static enum oto_status take_start(struct oto_mcap_reader *reader, struct oto_error *error)
{
    struct stat info;
    if (fstat(reader->fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        return oto_fail(error, OTO_IO, "'%.256s' is not a file that can be read", reader->path);
    }
    reader->facts.file_bytes = (uint64_t)info.st_size;
    const uint64_t bytes = reader->facts.file_bytes < 4096 ? reader->facts.file_bytes : 4096;
    unsigned char *data = oto_mcap_load(reader, 0, bytes);
    struct oto_mcap_cursor start = {.at = data, .left = (size_t)bytes, .failed = data == NULL}, header;
    const unsigned char *magic = oto_mcap_take(&start, OTO_MCAP_MAGIC_BYTES);
    uint8_t opcode = 0;
    const bool is_mcap = magic != NULL && memcmp(magic, OTO_MCAP_MAGIC, OTO_MCAP_MAGIC_BYTES) == 0;
    if (is_mcap && oto_mcap_next_record(&start, &opcode, &header) && opcode == OTO_MCAP_HEADER) {
        reader->facts.profile = oto_mcap_take_text(&header);
        reader->facts.library = oto_mcap_take_text(&header);
    }
    free(data);
    return !is_mcap ? oto_fail(error, OTO_CORRUPT, "'%.256s' is not an MCAP file: it does not begin with \\x89MCAP0",
                               reader->path)
           : reader->facts.library == NULL
               ? oto_fail(error, OTO_CORRUPT, "'%.256s' ends within its header: it holds no recording", reader->path)
               : OTO_OK;
}

static bool take_summary_record(struct oto_mcap_reader *reader, uint8_t opcode, struct oto_mcap_cursor contents)
{
    switch (opcode) {
    case OTO_MCAP_SCHEMA:
        return oto_mcap_take_schema(reader, contents);
    case OTO_MCAP_CHANNEL:
        return oto_mcap_take_channel(reader, contents);
    case OTO_MCAP_STATISTICS:
        reader->facts.has_summary = true;
        return oto_mcap_take_statistics(reader, contents);
    case OTO_MCAP_CHUNK_INDEX:
        return oto_mcap_take_chunk_index(reader, contents);
    case OTO_MCAP_ATTACHMENT_INDEX:
        return oto_mcap_take_attachment_index(reader, contents);
    default:
        return true;
    }
}

/* False for a summary without all indexes: the reader cannot use it. */
static bool has_all_indexes(const struct oto_mcap_reader *reader)
{
    return reader->chunk_count == reader->announced_chunks && reader->attachment_count == reader->announced_attachments &&
           (reader->chunk_count > 0 || reader->announced_messages == 0);
}

/* Finds the summary by the footer. False: there is none, or it is damaged. */
static bool take_summary(struct oto_mcap_reader *reader)
{
    const uint64_t tail = OTO_MCAP_RECORD_HEAD_BYTES + OTO_MCAP_FOOTER_BYTES + OTO_MCAP_MAGIC_BYTES;
    const uint64_t file = reader->facts.file_bytes;
    unsigned char *data = file > tail ? oto_mcap_load(reader, file - tail, tail) : NULL;
    uint64_t start = 0;
    uint32_t crc = 0;
    if (data != NULL && data[0] == OTO_MCAP_FOOTER && memcmp(data + tail - OTO_MCAP_MAGIC_BYTES, OTO_MCAP_MAGIC, OTO_MCAP_MAGIC_BYTES) == 0) {
        memcpy(&start, data + OTO_MCAP_RECORD_HEAD_BYTES, sizeof start);
        memcpy(&crc, data + OTO_MCAP_RECORD_HEAD_BYTES + 16, sizeof crc);
    }
    free(data);
    const uint64_t end = file - OTO_MCAP_MAGIC_BYTES - sizeof crc;
    if (start == 0 || start >= file - tail || end - start > MOST_SUMMARY_BYTES) {
        return false;
    }
    data = oto_mcap_load(reader, start, end - start);
    bool good = data != NULL && (crc == 0 || oto_mcap_crc32(0, data, (size_t)(end - start)) == crc);
    struct oto_mcap_cursor records = {.at = data, .left = (size_t)(file - tail - start), .failed = !good}, contents;
    uint8_t opcode;
    while (good && records.left > 0) {
        good = oto_mcap_next_record(&records, &opcode, &contents) && take_summary_record(reader, opcode, contents);
    }
    free(data);
    reader->facts.complete_bytes = file;
    return good && reader->facts.has_summary && has_all_indexes(reader);
}

static void forget(struct oto_mcap_reader *reader)
{
    for (uint32_t i = 0; i < reader->schema_count; i++) {
        free(reader->schemas[i].name);
        free(reader->schemas[i].encoding);
        free(reader->schemas[i].data);
    }
    for (uint32_t i = 0; i < reader->channel_count; i++) {
        free(reader->channels[i].topic);
        free(reader->channels[i].message_encoding);
    }
    for (uint32_t i = 0; i < reader->attachment_count; i++) {
        free(reader->attachments[i].name);
    }
    reader->schema_count = 0;
    reader->channel_count = 0;
    reader->attachment_count = 0;
    reader->chunk_count = 0;
    reader->facts.has_summary = false;
    reader->facts.start_ns = 0;
    reader->facts.end_ns = 0;
}

static int by_start(const void *a, const void *b)
{
    const struct oto_mcap_read_chunk *first = a, *second = b;
    const int by_time = (first->start_ns > second->start_ns) - (first->start_ns < second->start_ns);
    return by_time != 0 ? by_time : (first->records_offset > second->records_offset) - (first->records_offset < second->records_offset);
}

enum oto_status oto_mcap_reader_open_fd(int fd, const char *path, struct oto_mcap_reader **out, struct oto_error *error)
{
    struct oto_mcap_reader *reader = calloc(1, sizeof *reader);
    *out = NULL;
    if (reader == NULL || (reader->path = strdup(path)) == NULL) {
        free(reader);
        (void)close(fd);
        return oto_fail(error, OTO_NO_MEMORY, "no memory to read '%.256s'", path);
    }
    reader->fd = fd;
    enum oto_status status = take_start(reader, error);
    if (status == OTO_OK && !take_summary(reader)) {
        forget(reader);
        status = oto_mcap_scan(reader, error);
    }
    if (status == OTO_OK && (reader->damaged = calloc((size_t)reader->chunk_count + 1, 1)) == NULL) {
        status = oto_mcap_reader_no_memory(reader, error);
    }
    if (status != OTO_OK) {
        oto_mcap_reader_close(reader);
        return status;
    }
    if (reader->chunk_count > 1) {
        qsort(reader->chunks, reader->chunk_count, sizeof *reader->chunks, by_start);
    }
    reader->facts.chunk_count = reader->chunk_count;
    *out = reader;
    return OTO_OK;
}

enum oto_status oto_mcap_reader_open(const char *path, struct oto_mcap_reader **reader, struct oto_error *error)
{
    const char *why = NULL;
    const int fd = srv_regular_open(path, 0, &why);
    *reader = NULL;
    return fd >= 0 ? oto_mcap_reader_open_fd(fd, path, reader, error)
                   : oto_fail(error, OTO_IO, "cannot read '%.256s': %s", path, why);
}

void oto_mcap_reader_close(struct oto_mcap_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    forget(reader);
    for (uint32_t i = 0; i < reader->active_count; i++) {
        free(reader->active[i].data);
        free(reader->active[i].entries);
    }
    (void)close(reader->fd);
    free(reader->schemas);
    free(reader->channels);
    free(reader->chunks);
    free(reader->attachments);
    free(reader->damaged);
    free(reader->facts.profile);
    free(reader->facts.library);
    free(reader->path);
    free(reader);
}

const struct oto_mcap_facts *oto_mcap_reader_facts(const struct oto_mcap_reader *reader)
{
    return &reader->facts;
}

/* ---- schemas, channels, attachments ---- */

uint32_t oto_mcap_reader_channel_count(const struct oto_mcap_reader *reader)
{
    return reader->channel_count;
}

const struct oto_mcap_read_channel *oto_mcap_reader_channel_at(const struct oto_mcap_reader *reader, uint32_t index)
{
    return index < reader->channel_count ? &reader->channels[index] : NULL;
}

const struct oto_mcap_read_channel *oto_mcap_reader_channel(const struct oto_mcap_reader *reader, uint16_t id)
{
    const uint32_t guess = id - 1u; /* writers number channels from 1 */
    if (guess < reader->channel_count && reader->channels[guess].id == id) {
        return &reader->channels[guess];
    }
    for (uint32_t i = 0; i < reader->channel_count; i++) {
        if (reader->channels[i].id == id) {
            return &reader->channels[i];
        }
    }
    return NULL;
}

const struct oto_mcap_read_schema *oto_mcap_reader_schema(const struct oto_mcap_reader *reader, uint16_t id)
{
    for (uint32_t i = 0; i < reader->schema_count; i++) {
        if (reader->schemas[i].id == id) {
            return &reader->schemas[i];
        }
    }
    return NULL;
}

uint32_t oto_mcap_reader_attachment_count(const struct oto_mcap_reader *reader)
{
    return reader->attachment_count;
}

const char *oto_mcap_reader_attachment_name(const struct oto_mcap_reader *reader, uint32_t index)
{
    return reader->attachments[index].name;
}

enum oto_status oto_mcap_reader_attachment(struct oto_mcap_reader *reader, uint32_t index, unsigned char **data,
                                           size_t *bytes, struct oto_error *error)
{
    const struct oto_mcap_read_attachment *attachment = &reader->attachments[index];
    *data = NULL;
    *bytes = 0;
    unsigned char *record = attachment->length <= OTO_MCAP_MOST_ATTACHMENT_BYTES
                                ? oto_mcap_load(reader, attachment->offset, attachment->length)
                                : NULL;
    struct oto_mcap_cursor all = {.at = record, .left = (size_t)attachment->length, .failed = record == NULL}, contents;
    uint8_t opcode;
    uint64_t length = 0;
    const unsigned char *from = NULL;
    if (record != NULL && oto_mcap_next_record(&all, &opcode, &contents)) {
        const unsigned char *begin = contents.at;
        (void)oto_mcap_take(&contents, 16);
        free(oto_mcap_take_text(&contents));
        free(oto_mcap_take_text(&contents));
        length = oto_mcap_take_u64(&contents);
        from = oto_mcap_take(&contents, length);
        const uint32_t found = from != NULL ? oto_mcap_crc32(0, begin, (size_t)(contents.at - begin)) : 0;
        const uint32_t crc = oto_mcap_take_u32(&contents);
        from = contents.failed || (crc != 0 && crc != found) ? NULL : from;
    }
    if (from != NULL && (*data = malloc((size_t)length + 1)) != NULL) {
        memcpy(*data, from, (size_t)length);
        (*data)[length] = '\0';
        *bytes = (size_t)length;
    }
    free(record);
    return *data != NULL ? OTO_OK
                         : oto_fail(error, OTO_CORRUPT, "'%.256s': the attachment '%.100s' is damaged", reader->path,
                                    attachment->name);
}
