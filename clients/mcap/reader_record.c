#include <stdlib.h>

#include "mcap/reader_private.h"

/* Makes room for one more item in an array that doubles. */
static bool has_room(void **items, uint32_t count, size_t bytes)
{
    if (count != 0 && (count & (count - 1)) != 0) {
        return true;
    }
    void *more = count < UINT32_MAX / 2 ? realloc(*items, (count == 0 ? 1 : 2 * (size_t)count) * bytes) : NULL;
    *items = more != NULL ? more : *items;
    return more != NULL;
}

bool oto_mcap_next_record(struct oto_mcap_cursor *records, uint8_t *opcode, struct oto_mcap_cursor *contents)
{
    const unsigned char *at = oto_mcap_take(records, 1);
    const uint64_t length = oto_mcap_take_u64(records);
    *contents = oto_mcap_take_part(records, length);
    *opcode = at != NULL ? *at : 0;
    return !contents->failed;
}

bool oto_mcap_take_schema(struct oto_mcap_reader *reader, struct oto_mcap_cursor contents)
{
    struct oto_mcap_read_schema schema = {.id = oto_mcap_take_u16(&contents)};
    if (oto_mcap_reader_schema(reader, schema.id) != NULL) {
        return true;
    }
    schema.name = oto_mcap_take_text(&contents);
    schema.encoding = oto_mcap_take_text(&contents);
    schema.bytes = oto_mcap_take_u32(&contents);
    const unsigned char *data = oto_mcap_take(&contents, schema.bytes);
    schema.data = data != NULL ? malloc((size_t)schema.bytes + 1) : NULL;
    if (schema.id == 0 || schema.data == NULL ||
        !has_room((void **)&reader->schemas, reader->schema_count, sizeof *reader->schemas)) {
        free(schema.name);
        free(schema.encoding);
        free(schema.data);
        return false;
    }
    memcpy(schema.data, data, schema.bytes);
    reader->schemas[reader->schema_count++] = schema;
    return true;
}

bool oto_mcap_take_channel(struct oto_mcap_reader *reader, struct oto_mcap_cursor contents)
{
    struct oto_mcap_read_channel channel = {.id = oto_mcap_take_u16(&contents)};
    channel.schema = oto_mcap_take_u16(&contents);
    if (oto_mcap_reader_channel(reader, channel.id) != NULL) {
        return true;
    }
    channel.topic = oto_mcap_take_text(&contents);
    channel.message_encoding = oto_mcap_take_text(&contents);
    if (contents.failed || !has_room((void **)&reader->channels, reader->channel_count, sizeof *reader->channels)) {
        free(channel.topic);
        free(channel.message_encoding);
        return false;
    }
    reader->channels[reader->channel_count++] = channel;
    return true;
}

bool oto_mcap_take_statistics(struct oto_mcap_reader *reader, struct oto_mcap_cursor contents)
{
    reader->announced_messages = oto_mcap_take_u64(&contents);
    (void)oto_mcap_take(&contents, 2 + 4);
    reader->announced_attachments = oto_mcap_take_u32(&contents);
    (void)oto_mcap_take(&contents, 4);
    reader->announced_chunks = oto_mcap_take_u32(&contents);
    reader->facts.start_ns = oto_mcap_take_u64(&contents);
    reader->facts.end_ns = oto_mcap_take_u64(&contents);
    struct oto_mcap_cursor counts = oto_mcap_take_part(&contents, oto_mcap_take_u32(&contents));
    while (counts.left > 0 && !counts.failed) {
        const uint16_t id = oto_mcap_take_u16(&counts);
        const uint64_t messages = oto_mcap_take_u64(&counts);
        for (uint32_t i = 0; i < reader->channel_count; i++) {
            if (reader->channels[i].id == id) {
                reader->channels[i].messages = messages;
            }
        }
    }
    return !contents.failed && !counts.failed;
}

static enum oto_mcap_compression compression_of(const char *name)
{
    return name[0] == '\0' ? OTO_MCAP_PLAIN : strcmp(name, "zstd") == 0 ? OTO_MCAP_ZSTD : OTO_MCAP_UNKNOWN_COMPRESSION;
}

static bool take_compression(struct oto_mcap_cursor *contents, enum oto_mcap_compression *compression)
{
    char *name = oto_mcap_take_text(contents);
    *compression = name != NULL ? compression_of(name) : OTO_MCAP_PLAIN;
    free(name);
    return name != NULL;
}

bool oto_mcap_take_chunk_head(struct oto_mcap_cursor *contents, uint64_t offset, struct oto_mcap_read_chunk *chunk)
{
    const unsigned char *begin = contents->at;
    chunk->start_ns = oto_mcap_take_u64(contents);
    chunk->end_ns = oto_mcap_take_u64(contents);
    chunk->plain_bytes = oto_mcap_take_u64(contents);
    chunk->crc = oto_mcap_take_u32(contents);
    const bool named = take_compression(contents, &chunk->compression);
    chunk->records_bytes = oto_mcap_take_u64(contents);
    chunk->records_offset = offset + (uint64_t)(contents->at - begin);
    return named && !contents->failed;
}

/* Reads the head of the chunk record that the index names. */
bool oto_mcap_take_chunk_index(struct oto_mcap_reader *reader, struct oto_mcap_cursor contents)
{
    struct oto_mcap_read_chunk chunk = {0};
    (void)oto_mcap_take(&contents, 16);
    const uint64_t offset = oto_mcap_take_u64(&contents), length = oto_mcap_take_u64(&contents);
    enum { HEAD_BYTES = 128 };
    const uint64_t bytes = length < HEAD_BYTES ? length : HEAD_BYTES;
    unsigned char *data = contents.failed ? NULL : oto_mcap_load(reader, offset, bytes);
    struct oto_mcap_cursor head = {.at = data, .left = data != NULL ? (size_t)bytes : 0, .failed = data == NULL};
    const unsigned char *opcode = oto_mcap_take(&head, 1);
    (void)oto_mcap_take_u64(&head);
    const bool good = opcode != NULL && *opcode == OTO_MCAP_CHUNK &&
                      oto_mcap_take_chunk_head(&head, offset + OTO_MCAP_RECORD_HEAD_BYTES, &chunk) &&
                      oto_mcap_add_chunk(reader, &chunk);
    free(data);
    return good;
}

bool oto_mcap_add_chunk(struct oto_mcap_reader *reader, const struct oto_mcap_read_chunk *chunk)
{
    const bool inside = chunk->records_offset <= reader->facts.file_bytes &&
                        chunk->records_bytes <= reader->facts.file_bytes - chunk->records_offset;
    if (!inside || !has_room((void **)&reader->chunks, reader->chunk_count, sizeof *reader->chunks)) {
        return false;
    }
    reader->chunks[reader->chunk_count++] = *chunk;
    return true;
}

bool oto_mcap_add_attachment(struct oto_mcap_reader *reader, uint64_t offset, uint64_t length, char *name)
{
    if (name == NULL || !has_room((void **)&reader->attachments, reader->attachment_count, sizeof *reader->attachments)) {
        free(name);
        return false;
    }
    reader->attachments[reader->attachment_count++] = (struct oto_mcap_read_attachment){offset, length, name};
    return true;
}

bool oto_mcap_take_attachment_index(struct oto_mcap_reader *reader, struct oto_mcap_cursor contents)
{
    const uint64_t offset = oto_mcap_take_u64(&contents), length = oto_mcap_take_u64(&contents);
    (void)oto_mcap_take(&contents, 24);
    return oto_mcap_add_attachment(reader, offset, length, oto_mcap_take_text(&contents));
}
