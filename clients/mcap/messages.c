/* Messages in the order of their log time, from chunks that may overlap. */
#include <stdlib.h>

#include "mcap/reader_private.h"

#define MESSAGE_HEAD_BYTES 22u

static int by_time(const void *a, const void *b)
{
    const struct oto_mcap_entry *first = a, *second = b;
    const int order = (first->log_time_ns > second->log_time_ns) - (first->log_time_ns < second->log_time_ns);
    return order != 0 ? order : (first->offset > second->offset) - (first->offset < second->offset);
}

/* Lists the messages of a chunk that are not before `from_ns`. False: no memory. */
static bool list_entries(const struct oto_mcap_reader *reader, uint64_t bytes, struct oto_mcap_active *active)
{
    struct oto_mcap_cursor records = {.at = active->data, .left = (size_t)bytes}, contents;
    size_t capacity = 0;
    bool sorted = true;
    uint8_t opcode;
    while (records.left > 0 && oto_mcap_next_record(&records, &opcode, &contents)) {
        if (opcode != OTO_MCAP_MESSAGE || contents.left < MESSAGE_HEAD_BYTES) {
            continue;
        }
        struct oto_mcap_entry entry = {.offset = (uint32_t)(contents.at - active->data), .length = (uint32_t)contents.left};
        memcpy(&entry.log_time_ns, contents.at + 6, sizeof entry.log_time_ns);
        if (entry.log_time_ns < reader->from_ns) {
            continue;
        }
        if (active->count == capacity) {
            capacity = capacity == 0 ? 1024 : 2 * capacity;
            struct oto_mcap_entry *more = realloc(active->entries, capacity * sizeof *more);
            if (more == NULL) {
                return false;
            }
            active->entries = more;
        }
        sorted = sorted && (active->count == 0 || active->entries[active->count - 1].log_time_ns <= entry.log_time_ns);
        active->entries[active->count++] = entry;
    }
    if (!sorted && !reader->as_written) {
        qsort(active->entries, active->count, sizeof *active->entries, by_time);
    }
    return true;
}

static void drop(struct oto_mcap_reader *reader, uint32_t index)
{
    free(reader->active[index].data);
    free(reader->active[index].entries);
    for (uint32_t i = index + 1; i < reader->active_count; i++) {
        reader->active[i - 1] = reader->active[i];
    }
    reader->active_count--;
}

static void note_damage(struct oto_mcap_reader *reader, uint32_t chunk)
{
    reader->facts.damaged_chunks += reader->damaged[chunk] == 0;
    reader->damaged[chunk] = 1;
}

/* Loads the next chunk. A chunk that is damaged, or ends before the time of oto_mcap_reader_seek, is skipped. */
static enum oto_status activate(struct oto_mcap_reader *reader, struct oto_error *error)
{
    const uint32_t index = reader->next_chunk++;
    const struct oto_mcap_read_chunk *chunk = &reader->chunks[index];
    if (chunk->end_ns < reader->from_ns) {
        return OTO_OK;
    }
    if (reader->active_count == OTO_MCAP_MOST_ACTIVE) {
        return oto_fail(error, OTO_LIMIT, "'%.256s': more than %d chunks of the same time", reader->path,
                        (int)OTO_MCAP_MOST_ACTIVE);
    }
    struct oto_mcap_active active = {.chunk = index, .data = oto_mcap_load_chunk(reader, chunk)};
    if (active.data == NULL) {
        note_damage(reader, index);
        return OTO_OK;
    }
    reader->active[reader->active_count++] = active;
    return list_entries(reader, chunk->plain_bytes, &reader->active[reader->active_count - 1])
               ? OTO_OK
               : oto_mcap_reader_no_memory(reader, error);
}

/* The active chunk whose next message is the earliest; NULL: there is none. Chunks without further messages are freed. */
static struct oto_mcap_active *earliest(struct oto_mcap_reader *reader)
{
    struct oto_mcap_active *best = NULL;
    for (uint32_t i = 0; i < reader->active_count;) {
        struct oto_mcap_active *active = &reader->active[i];
        if (active->next == active->count) {
            drop(reader, i);
            continue;
        }
        if (best == NULL || active->entries[active->next].log_time_ns < best->entries[best->next].log_time_ns) {
            best = active;
        }
        i++;
    }
    return best;
}

/* True if the next chunk may have a message that is earlier than the next message of `best`. */
static bool is_due(const struct oto_mcap_reader *reader, const struct oto_mcap_active *best)
{
    return reader->chunks[reader->next_chunk].start_ns <= best->entries[best->next].log_time_ns;
}

enum oto_status oto_mcap_reader_next(struct oto_mcap_reader *reader, struct oto_mcap_read_message *message,
                                     struct oto_error *error)
{
    struct oto_mcap_active *best = earliest(reader);
    while (reader->next_chunk < reader->chunk_count && (best == NULL || (!reader->as_written && is_due(reader, best)))) {
        const enum oto_status status = activate(reader, error);
        if (status != OTO_OK) {
            return status;
        }
        best = earliest(reader);
    }
    if (best == NULL) {
        return OTO_CLOSED;
    }
    const struct oto_mcap_entry *entry = &best->entries[best->next++];
    struct oto_mcap_cursor contents = {.at = best->data + entry->offset, .left = entry->length};
    message->channel = oto_mcap_take_u16(&contents);
    message->sequence = oto_mcap_take_u32(&contents);
    message->log_time_ns = oto_mcap_take_u64(&contents);
    message->publish_time_ns = oto_mcap_take_u64(&contents);
    message->data = contents.at;
    message->bytes = contents.left;
    return OTO_OK;
}

void oto_mcap_reader_seek(struct oto_mcap_reader *reader, uint64_t log_time_ns)
{
    while (reader->active_count > 0) {
        drop(reader, reader->active_count - 1);
    }
    reader->from_ns = log_time_ns;
    reader->next_chunk = 0;
}

static int by_place(const void *a, const void *b)
{
    const struct oto_mcap_read_chunk *first = a, *second = b;
    return (first->records_offset > second->records_offset) - (first->records_offset < second->records_offset);
}

void oto_mcap_reader_as_written(struct oto_mcap_reader *reader)
{
    reader->as_written = true;
    if (reader->chunk_count > 1) {
        qsort(reader->chunks, reader->chunk_count, sizeof *reader->chunks, by_place);
    }
}
