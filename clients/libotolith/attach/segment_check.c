#include "attach/segment_check.h"

#include <stdlib.h>

#include "base/record_check.h"

#define MAX_FIELD_USES (4u * OTO_SEGMENT_MAX_FIELDS) /* channels may share fields; this limits the time of a check */

/* The part of the header that does not change while a world runs. */
#define STILL_HEADER_BYTES offsetof(struct oto_segment_header, clock_head)

static enum oto_status fail_header(struct oto_error *error, enum oto_status status, const char *what, uint64_t found,
                                   uint64_t wanted)
{
    return oto_fail(error, status, "segment: %s is 0x%llx; 0x%llx is accepted", what, (unsigned long long)found,
                    (unsigned long long)wanted);
}

static bool lies_within(uint64_t offset, uint64_t count, uint64_t stride, uint64_t bytes)
{
    return offset >= OTO_SEGMENT_HEADER_BYTES && offset <= bytes && offset % 8 == 0 && count <= (bytes - offset) / stride;
}

static bool is_text(const char *text, size_t capacity)
{
    return strnlen(text, capacity) < capacity;
}

static enum oto_status check_identity(const struct oto_segment_header *header, uint64_t bytes, struct oto_error *error)
{
    if (header->magic != OTO_SEGMENT_MAGIC) {
        return fail_header(error, OTO_CORRUPT, "the magic number", header->magic, OTO_SEGMENT_MAGIC);
    }
    if (header->endian != OTO_SEGMENT_ENDIAN) {
        return fail_header(error, OTO_VERSION, "the byte order mark", header->endian, OTO_SEGMENT_ENDIAN);
    }
    if (header->major != OTO_SEGMENT_MAJOR) {
        return fail_header(error, OTO_VERSION, "the layout's major version", header->major, OTO_SEGMENT_MAJOR);
    }
    if (header->header_bytes != OTO_SEGMENT_HEADER_BYTES) {
        return fail_header(error, OTO_CORRUPT, "the header's size", header->header_bytes, OTO_SEGMENT_HEADER_BYTES);
    }
    if (header->page_bytes != OTO_SEGMENT_PAGE) {
        return fail_header(error, OTO_CORRUPT, "the page size", header->page_bytes, OTO_SEGMENT_PAGE);
    }
    if (header->segment_bytes != bytes) {
        return fail_header(error, OTO_CORRUPT, "the segment's size", header->segment_bytes, bytes);
    }
    return OTO_OK;
}

static enum oto_status check_tables(const struct oto_segment_header *header, uint64_t bytes, struct oto_error *error)
{
    if (header->field_stride != sizeof(struct oto_segment_field)) {
        return fail_header(error, OTO_CORRUPT, "the size of a field", header->field_stride,
                           sizeof(struct oto_segment_field));
    }
    if (header->channel_stride != sizeof(struct oto_segment_channel)) {
        return fail_header(error, OTO_CORRUPT, "the size of a channel", header->channel_stride,
                           sizeof(struct oto_segment_channel));
    }
    if (header->channel_count == 0 || header->channel_count > OTO_SEGMENT_MAX_CHANNELS || header->field_count == 0 ||
        header->field_count > OTO_SEGMENT_MAX_FIELDS) {
        return oto_fail(error, OTO_LIMIT, "segment: %u channels and %u fields; 1 to %u and 1 to %u are accepted",
                        header->channel_count, header->field_count, OTO_SEGMENT_MAX_CHANNELS, OTO_SEGMENT_MAX_FIELDS);
    }
    if (!lies_within(header->field_offset, header->field_count, header->field_stride, bytes) ||
        !lies_within(header->directory_offset, header->channel_count, header->channel_stride, bytes)) {
        return oto_fail(error, OTO_CORRUPT, "segment: the field table or the directory lies outside its %llu bytes",
                        (unsigned long long)bytes);
    }
    if (!is_text(header->world, sizeof header->world) || header->world[0] == '\0') {
        return oto_fail(error, OTO_CORRUPT, "segment: the world's name is no text");
    }
    if (header->rate_num == 0 || header->rate_den == 0) {
        return oto_fail(error, OTO_CORRUPT, "segment: the base rate is not a positive ratio");
    }
    return OTO_OK;
}

/* Reads plugin names again with their lock, since a swap may have written them while the tables were copied. */
static void take_identities(const unsigned char *base, const struct oto_segment_header *header,
                            struct oto_segment_directory *directory)
{
    const struct oto_segment_channel *entries =
        (const struct oto_segment_channel *)(const void *)(base + header->directory_offset);
    for (uint32_t i = 0; i < header->channel_count; i++) {
        struct oto_channel_identity identity;
        if (oto_channel_identity_read(&entries[i], &identity) == OTO_OK) {
            memcpy(directory->entries[i].plugin, identity.plugin, sizeof identity.plugin);
            memcpy(directory->entries[i].plugin_version, identity.plugin_version, sizeof identity.plugin_version);
        }
    }
}

/* Copies the two tables, then checks that the copies have the hash of the header. */
static enum oto_status copy_tables(const unsigned char *base, const struct oto_segment_header *header,
                                   struct oto_segment_directory *directory, struct oto_error *error)
{
    const size_t field_bytes = (size_t)header->field_count * sizeof *directory->field_entries;
    const size_t entry_bytes = (size_t)header->channel_count * sizeof *directory->entries;
    directory->field_entries = malloc(field_bytes);
    directory->entries = malloc(entry_bytes);
    directory->fields = calloc(header->field_count, sizeof *directory->fields);
    directory->channels = calloc(header->channel_count, sizeof *directory->channels);
    if (directory->field_entries == NULL || directory->entries == NULL || directory->fields == NULL ||
        directory->channels == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for a directory of %u channels and %u fields",
                        header->channel_count, header->field_count);
    }
    oto_words_load(directory->field_entries, base + header->field_offset, field_bytes);
    oto_words_load(directory->entries, base + header->directory_offset, entry_bytes);
    take_identities(base, header, directory);
    const uint64_t hash = oto_segment_layout_hash(directory->field_entries, header->field_count, directory->entries,
                                                  header->channel_count);
    if (hash != header->layout_hash) {
        return fail_header(error, OTO_CORRUPT, "the hash of directory and fields", hash, header->layout_hash);
    }
    return OTO_OK;
}

static enum oto_status take_field(const struct oto_segment_field *entry, struct oto_field *field, uint32_t index,
                                  struct oto_error *error)
{
    if (!is_text(entry->name, sizeof entry->name) || !is_text(entry->unit, sizeof entry->unit) ||
        !is_text(entry->frame, sizeof entry->frame) || !is_text(entry->text, sizeof entry->text)) {
        return oto_fail(error, OTO_CORRUPT, "segment: a text of field %u has no end", index);
    }
    *field = (struct oto_field){entry->name,   entry->type, entry->count, entry->offset,
                                entry->unit, entry->frame, entry->text};
    return OTO_OK;
}

static bool texts_are_sound(const struct oto_segment_channel *entry)
{
    return is_text(entry->topic, sizeof entry->topic) && entry->topic[0] != '\0' &&
           is_text(entry->node, sizeof entry->node) && is_text(entry->plugin, sizeof entry->plugin) &&
           is_text(entry->plugin_version, sizeof entry->plugin_version) &&
           is_text(entry->type_name, sizeof entry->type_name) && is_text(entry->frame_id, sizeof entry->frame_id);
}

static bool ring_is_within(const struct oto_segment_channel *entry, uint64_t bytes)
{
    const uint64_t offset = entry->ring_offset;
    const uint32_t capacity = entry->capacity;
    return capacity != 0 && (capacity & (capacity - 1)) == 0 && entry->slot_stride % 64 == 0 &&
           entry->payload_bytes <= OTO_RECORD_MAX_BYTES && entry->payload_bytes % 8 == 0 &&
           entry->slot_stride >= sizeof(struct oto_ring_slot) + entry->payload_bytes && offset % 64 == 0 &&
           offset >= OTO_SEGMENT_HEADER_BYTES && offset <= bytes && bytes - offset >= sizeof(struct oto_ring) &&
           capacity <= (bytes - offset - sizeof(struct oto_ring)) / entry->slot_stride;
}

/*
 * Checks the type of a channel. `like` has, for each field, a channel whose type begins there and is sound: like
 * vehicles of a fleet share their types, which are then checked once.
 */
static enum oto_status take_type(const struct oto_segment_directory *directory, uint32_t field_count,
                                 const struct oto_segment_channel *entry, const struct oto_segment_channel **like,
                                 struct oto_record_type *type, struct oto_error *error)
{
    if (entry->first_field > field_count || entry->field_count > field_count - entry->first_field) {
        return oto_fail(error, OTO_CORRUPT, "segment: the fields of channel '%s' lie outside the table", entry->topic);
    }
    *type = (struct oto_record_type){entry->type_name, entry->payload_bytes, entry->field_count,
                                     directory->fields + entry->first_field};
    const struct oto_segment_channel *known = type->field_count > 0 ? like[entry->first_field] : NULL;
    if (known != NULL && known->field_count == entry->field_count && known->payload_bytes == entry->payload_bytes &&
        known->type_hash == entry->type_hash && strcmp(known->type_name, entry->type_name) == 0) {
        return OTO_OK;
    }
    struct oto_error why = {.status = OTO_OK};
    if (oto_wire_type_check(type, &why) != OTO_OK) {
        return oto_fail(error, OTO_CORRUPT, "segment: channel '%s': %.380s", entry->topic, why.text);
    }
    if (oto_record_type_hash(type) != entry->type_hash) {
        return oto_fail(error, OTO_CORRUPT, "segment: the type of channel '%s' is not the one its hash names",
                        entry->topic);
    }
    like[entry->first_field] = entry;
    return OTO_OK;
}

static enum oto_status take_channel(const unsigned char *base, const struct oto_segment_header *header,
                                    const struct oto_segment_channel **like, struct oto_segment_directory *directory,
                                    uint32_t index, struct oto_error *error)
{
    const struct oto_segment_channel *entry = &directory->entries[index];
    struct oto_channel *channel = &directory->channels[index];
    if (!texts_are_sound(entry)) {
        return oto_fail(error, OTO_CORRUPT, "segment: a text of channel %u is missing or has no end", index);
    }
    if (!ring_is_within(entry, header->segment_bytes) || entry->rate_den == 0) {
        return oto_fail(error, OTO_CORRUPT, "segment: the ring of channel '%s' is malformed or lies outside",
                        entry->topic);
    }
    const enum oto_status status = take_type(directory, header->field_count, entry, like, &channel->type, error);
    if (status != OTO_OK) {
        return status;
    }
    channel->index = index;
    channel->node_index = entry->node_index;
    channel->flags = entry->flags;
    channel->capacity = entry->capacity;
    memcpy(channel->topic, entry->topic, sizeof channel->topic);
    memcpy(channel->node, entry->node, sizeof channel->node);
    memcpy(channel->plugin, entry->plugin, sizeof channel->plugin);
    memcpy(channel->plugin_version, entry->plugin_version, sizeof channel->plugin_version);
    memcpy(channel->frame_id, entry->frame_id, sizeof channel->frame_id);
    channel->type_hash = entry->type_hash;
    channel->rate_num = entry->rate_num;
    channel->rate_den = entry->rate_den;
    channel->view = oto_ring_view_make(base, entry);
    channel->epoch = directory->epoch;
    /* Events contain clients and wall-clock times, so a restored run has different events with the same seq. */
    channel->lineage = (entry->flags & OTO_CHANNEL_EVENTS) != 0 ? directory->epoch : directory->lineage;
    directory->channel_count++;
    return OTO_OK;
}

static enum oto_status take_tables(const unsigned char *base, const struct oto_segment_header *header,
                                   struct oto_segment_directory *directory, struct oto_error *error)
{
    const struct oto_segment_channel **like = calloc(header->field_count + (size_t)1, sizeof *like);
    enum oto_status status =
        like != NULL ? OTO_OK : oto_fail(error, OTO_NO_MEMORY, "no memory for the types of a segment");
    uint64_t uses = 0;
    for (uint32_t i = 0; i < header->field_count && status == OTO_OK; i++) {
        status = take_field(&directory->field_entries[i], &directory->fields[i], i, error);
    }
    for (uint32_t i = 0; i < header->channel_count && status == OTO_OK; i++) {
        uses += directory->entries[i].field_count;
        status = uses > MAX_FIELD_USES
                     ? oto_fail(error, OTO_LIMIT, "segment: its channels use more than %u fields", MAX_FIELD_USES)
                     : take_channel(base, header, like, directory, i, error);
    }
    free(like);
    return status;
}

enum oto_status oto_segment_read(const void *base, size_t bytes, struct oto_segment_directory *directory,
                                 struct oto_error *error)
{
    *directory = (struct oto_segment_directory){.channel_count = 0};
    if (bytes < OTO_SEGMENT_HEADER_BYTES || bytes > OTO_SEGMENT_MAX_BYTES) {
        return oto_fail(error, OTO_CORRUPT, "segment of %zu bytes; %u to %llu are accepted", bytes,
                        OTO_SEGMENT_HEADER_BYTES, (unsigned long long)OTO_SEGMENT_MAX_BYTES);
    }
    const struct oto_segment_header *shared = base;
    struct oto_segment_header header;
    header.magic = __atomic_load_n(&shared->magic, __ATOMIC_ACQUIRE);
    oto_words_load((unsigned char *)&header + sizeof header.magic, (const unsigned char *)base + sizeof header.magic,
                   STILL_HEADER_BYTES - sizeof header.magic);
    directory->epoch = header.epoch;
    directory->lineage = header.lineage != 0 ? header.lineage : header.epoch; /* layout 1.0 has no lineage */
    enum oto_status status = check_identity(&header, bytes, error);
    if (status == OTO_OK) {
        status = check_tables(&header, bytes, error);
    }
    if (status == OTO_OK) {
        status = copy_tables(base, &header, directory, error);
    }
    if (status == OTO_OK) {
        status = take_tables(base, &header, directory, error);
    }
    if (status != OTO_OK) {
        oto_segment_directory_finish(directory);
        return status;
    }
    directory->shared_entries = (const void *)((const unsigned char *)base + header.directory_offset);
    memcpy(directory->world, header.world, sizeof directory->world);
    return OTO_OK;
}

void oto_segment_directory_finish(struct oto_segment_directory *directory)
{
    free(directory->channels);
    free(directory->entries);
    free(directory->field_entries);
    free(directory->fields);
    *directory = (struct oto_segment_directory){.channel_count = 0};
}
