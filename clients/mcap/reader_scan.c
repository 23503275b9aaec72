/* One pass over the records of a file without a usable summary. */
#include <inttypes.h>
#include <stdlib.h>

#include "mcap/reader_private.h"

/* Limits of contents that are read at once. Chunks are read by oto_mcap_load_chunk instead. */
#define MOST_RECORD_BYTES (UINT64_C(64) << 20)
#define MOST_HEAD_BYTES 128u

/* A record at the top level of the file. */
struct found {
    uint8_t opcode;
    uint64_t offset, length; /* of the contents */
};

/* Finds the record at an offset. False: no complete record begins there. */
static bool find(const struct oto_mcap_reader *reader, uint64_t offset, struct found *found)
{
    unsigned char *data = oto_mcap_load(reader, offset, OTO_MCAP_RECORD_HEAD_BYTES);
    if (data == NULL) {
        return false;
    }
    found->opcode = data[0];
    memcpy(&found->length, data + 1, sizeof found->length);
    found->offset = offset + OTO_MCAP_RECORD_HEAD_BYTES;
    free(data);
    return found->opcode != 0 && found->length <= reader->facts.file_bytes - found->offset;
}

static void note_times(struct oto_mcap_reader *reader, const struct oto_mcap_read_chunk *chunk, bool first)
{
    struct oto_mcap_facts *facts = &reader->facts;
    facts->start_ns = first || chunk->start_ns < facts->start_ns ? chunk->start_ns : facts->start_ns;
    facts->end_ns = chunk->end_ns > facts->end_ns ? chunk->end_ns : facts->end_ns;
}

/* Takes the schemas and channels of a chunk. */
static bool take_definitions(struct oto_mcap_reader *reader, const struct oto_mcap_read_chunk *chunk)
{
    unsigned char *data = oto_mcap_load_chunk(reader, chunk);
    struct oto_mcap_cursor records = {.at = data, .left = (size_t)chunk->plain_bytes, .failed = data == NULL}, contents;
    uint8_t opcode;
    bool good = data != NULL;
    while (good && records.left > 0 && oto_mcap_next_record(&records, &opcode, &contents)) {
        good = opcode == OTO_MCAP_SCHEMA    ? oto_mcap_take_schema(reader, contents)
               : opcode == OTO_MCAP_CHANNEL ? oto_mcap_take_channel(reader, contents)
                                            : true;
    }
    free(data);
    return good;
}

static bool take_chunk(struct oto_mcap_reader *reader, const struct found *found)
{
    const uint64_t bytes = found->length < MOST_HEAD_BYTES ? found->length : MOST_HEAD_BYTES;
    unsigned char *data = oto_mcap_load(reader, found->offset, bytes);
    struct oto_mcap_cursor contents = {.at = data, .left = (size_t)bytes, .failed = data == NULL};
    struct oto_mcap_read_chunk chunk = {0};
    if (!oto_mcap_take_chunk_head(&contents, found->offset, &chunk) || !oto_mcap_add_chunk(reader, &chunk)) {
        free(data);
        return false;
    }
    free(data);
    note_times(reader, &chunk, reader->chunk_count == 1);
    (void)take_definitions(reader, &chunk); /* damage is counted when its messages are read */
    return true;
}

/* Adds a message outside chunks to the plain chunk that ends where the message begins, or to a new plain chunk. */
static bool take_message(struct oto_mcap_reader *reader, const struct found *found)
{
    const uint64_t begin = found->offset - OTO_MCAP_RECORD_HEAD_BYTES, bytes = OTO_MCAP_RECORD_HEAD_BYTES + found->length;
    struct oto_mcap_read_chunk *last = reader->chunk_count > 0 ? &reader->chunks[reader->chunk_count - 1] : NULL;
    unsigned char *data = oto_mcap_load(reader, found->offset, 14);
    struct oto_mcap_cursor contents = {.at = data, .left = 14, .failed = data == NULL};
    (void)oto_mcap_take(&contents, 6);
    const uint64_t time = oto_mcap_take_u64(&contents);
    free(data);
    struct oto_mcap_read_chunk chunk = {.records_offset = begin, .records_bytes = bytes, .plain_bytes = bytes,
                                        .start_ns = time, .end_ns = time};
    if (contents.failed) {
        return false;
    }
    const bool joins = last != NULL && last->crc == 0 && last->compression == OTO_MCAP_PLAIN &&
                       last->records_offset + last->records_bytes == begin && last->plain_bytes < (1u << 20);
    note_times(reader, &chunk, reader->chunk_count == 0);
    if (!joins) {
        return oto_mcap_add_chunk(reader, &chunk);
    }
    last->records_bytes += bytes;
    last->plain_bytes += bytes;
    last->start_ns = time < last->start_ns ? time : last->start_ns;
    last->end_ns = time > last->end_ns ? time : last->end_ns;
    return true;
}

static bool take_attachment(struct oto_mcap_reader *reader, const struct found *found)
{
    enum { NAME_BYTES = 4096 };
    const uint64_t bytes = found->length < NAME_BYTES ? found->length : NAME_BYTES;
    unsigned char *data = oto_mcap_load(reader, found->offset, bytes);
    struct oto_mcap_cursor contents = {.at = data, .left = (size_t)bytes, .failed = data == NULL};
    (void)oto_mcap_take(&contents, 16);
    char *name = oto_mcap_take_text(&contents);
    free(data);
    return oto_mcap_add_attachment(reader, found->offset - OTO_MCAP_RECORD_HEAD_BYTES,
                                   OTO_MCAP_RECORD_HEAD_BYTES + found->length, name);
}

static bool take_definition(struct oto_mcap_reader *reader, const struct found *found)
{
    unsigned char *data = found->length <= MOST_RECORD_BYTES ? oto_mcap_load(reader, found->offset, found->length) : NULL;
    const struct oto_mcap_cursor contents = {.at = data, .left = (size_t)found->length, .failed = data == NULL};
    const bool good = data != NULL && (found->opcode == OTO_MCAP_SCHEMA ? oto_mcap_take_schema(reader, contents)
                                                                        : oto_mcap_take_channel(reader, contents));
    free(data);
    return good;
}

enum oto_status oto_mcap_scan(struct oto_mcap_reader *reader, struct oto_error *error)
{
    struct found found;
    bool good = true;
    uint64_t offset = OTO_MCAP_MAGIC_BYTES;
    while (good && find(reader, offset, &found) && found.opcode != OTO_MCAP_DATA_END) {
        switch (found.opcode) {
        case OTO_MCAP_SCHEMA:
        case OTO_MCAP_CHANNEL:
            good = take_definition(reader, &found);
            break;
        case OTO_MCAP_MESSAGE:
            good = take_message(reader, &found);
            break;
        case OTO_MCAP_CHUNK:
            good = take_chunk(reader, &found);
            break;
        case OTO_MCAP_ATTACHMENT:
            good = take_attachment(reader, &found);
            break;
        default:
            break;
        }
        offset = found.offset + found.length;
    }
    reader->facts.complete_bytes = offset;
    return good ? OTO_OK
                : oto_fail(error, OTO_CORRUPT, "'%.256s': the record at byte %" PRIu64 " is damaged", reader->path,
                           found.offset - OTO_MCAP_RECORD_HEAD_BYTES);
}
