#include "wire/frame_record.h"

#include <string.h>

#define NS_PER_S 1000000000

/* A record while it is decoded into a payload. */
struct record {
    struct oto_pack_reader reader;
    const struct oto_record_type *type;
    unsigned char *payload;
    struct oto_sample_head *head;
    char *frame_id;
    size_t frame_id_bytes;
    uint32_t expected; /* index of the next field if the record has the order of the type */
    uint32_t found;
    uint64_t have[OTO_RECORD_MAX_FIELDS / 64];
    bool have_header, have_otolith;
};

static bool store_unsigned(const struct oto_pack_item *item, uint32_t bytes, unsigned char *to)
{
    if (item->kind != OTO_PACK_UNSIGNED || (bytes < 8 && item->number >> (8 * bytes) != 0)) {
        return false;
    }
    memcpy(to, &item->number, bytes);
    return true;
}

static bool signed_of(const struct oto_pack_item *item, int64_t *number)
{
    if (item->kind == OTO_PACK_NEGATIVE) {
        *number = item->negative;
        return true;
    }
    *number = (int64_t)(item->number & INT64_MAX);
    return item->kind == OTO_PACK_UNSIGNED && item->number <= INT64_MAX;
}

static bool store_signed(const struct oto_pack_item *item, uint32_t bytes, unsigned char *to)
{
    const int64_t limit = bytes == 8 ? INT64_MAX : (INT64_C(1) << (8 * bytes - 1)) - 1;
    int64_t number;
    if (!signed_of(item, &number) || number > limit || number < -limit - 1) {
        return false;
    }
    memcpy(to, &number, bytes);
    return true;
}

static bool store_real(const struct oto_pack_item *item, uint32_t bytes, unsigned char *to)
{
    double real;
    if (!oto_pack_real(item, &real)) {
        return false;
    }
    if (bytes == 4) {
        const float narrow = (float)real;
        memcpy(to, &narrow, sizeof narrow);
    } else {
        memcpy(to, &real, sizeof real);
    }
    return true;
}

static bool store_element(uint32_t type, const struct oto_pack_item *item, unsigned char *to)
{
    const uint32_t bytes = oto_field_type_bytes(type);
    if (type >= OTO_FIELD_F32) {
        return store_real(item, bytes, to);
    }
    const bool is_signed = type % 2 == 0;
    return is_signed ? store_signed(item, bytes, to) : store_unsigned(item, bytes, to);
}
_Static_assert(OTO_FIELD_U8 % 2 == 1 && OTO_FIELD_I8 % 2 == 0 && OTO_FIELD_U64 % 2 == 1 && OTO_FIELD_I64 % 2 == 0 &&
                   OTO_FIELD_I64 < OTO_FIELD_F32,
               "signed types are the even ones, below the reals");

static bool take_field(struct record *record, uint32_t index)
{
    const struct oto_field *field = &record->type->fields[index];
    unsigned char *to = record->payload + field->offset;
    struct oto_pack_item item;
    if ((record->have[index / 64] >> (index % 64) & 1) != 0 || !oto_pack_next(&record->reader, &item)) {
        return false;
    }
    record->have[index / 64] |= UINT64_C(1) << (index % 64);
    record->found++;
    if (field->type == OTO_FIELD_TEXT) {
        const bool fits = item.kind == OTO_PACK_TEXT && item.count <= field->count &&
                          (item.count == 0 || memchr(item.data, '\0', item.count) == NULL);
        if (fits && item.count > 0) {
            memcpy(to, item.data, item.count);
        }
        return fits;
    }
    if (field->count == 1) {
        return store_element(field->type, &item, to);
    }
    const uint32_t bytes = oto_field_type_bytes(field->type);
    bool good = item.kind == OTO_PACK_ARRAY && item.count == field->count;
    for (uint32_t i = 0; good && i < field->count; i++) {
        good = oto_pack_next(&record->reader, &item) && store_element(field->type, &item, to + (size_t)i * bytes);
    }
    return good;
}

/*
 * Finds the first field whose name is `name` or, for a map, begins with it. The search starts at the expected field and
 * wraps.
 */
static uint32_t find_field(const struct record *record, const char *name, size_t bytes, char after)
{
    const uint32_t count = record->type->field_count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = (record->expected + i) % count;
        const char *field = record->type->fields[index].name;
        if (strncmp(field, name, bytes) == 0 && field[bytes] == after) {
            return index;
        }
    }
    return UINT32_MAX;
}

static bool next_is_map(const struct oto_pack_reader *reader)
{
    struct oto_pack_reader peek = *reader;
    struct oto_pack_item item;
    return oto_pack_expect(&peek, OTO_PACK_MAP, &item);
}

static bool take_map(struct record *record, char *name, size_t prefix);

/*
 * Decodes a pair whose key, appended to the first `prefix` bytes of `name`, names a field or a map of fields. Others
 * are skipped.
 */
static bool take_pair(struct record *record, const struct oto_pack_item *key, char *name, size_t prefix)
{
    if (key->count == 0 || key->count >= OTO_FIELD_NAME_BYTES - prefix || memchr(key->data, '\0', key->count) != NULL) {
        return oto_pack_skip(&record->reader);
    }
    const size_t bytes = prefix + key->count;
    memcpy(name + prefix, key->data, key->count);
    const bool map = next_is_map(&record->reader);
    const uint32_t index = find_field(record, name, bytes, map ? '.' : '\0');
    if (index == UINT32_MAX) {
        return oto_pack_skip(&record->reader);
    }
    if (map) {
        name[bytes] = '.';
        return bytes + 1 < OTO_FIELD_NAME_BYTES && take_map(record, name, bytes + 1);
    }
    record->expected = index + 1;
    return take_field(record, index);
}

/* Decodes a map below the top level. It recurses only along the dots of a field's name, so at most 24 deep. */
static bool take_map(struct record *record, char *name, size_t prefix)
{
    struct oto_pack_item map, key;
    if (!oto_pack_expect(&record->reader, OTO_PACK_MAP, &map)) {
        return false;
    }
    for (uint32_t i = 0; i < map.count; i++) {
        if (!oto_pack_expect(&record->reader, OTO_PACK_TEXT, &key) || !take_pair(record, &key, name, prefix)) {
            return false;
        }
    }
    return true;
}

static bool take_stamp(struct record *record)
{
    struct oto_pack_item map, key, item;
    int64_t sec = -1, nanosec = -1, t_ns;
    if (!oto_pack_expect(&record->reader, OTO_PACK_MAP, &map)) {
        return false;
    }
    for (uint32_t i = 0; i < map.count; i++) {
        if (!oto_pack_expect(&record->reader, OTO_PACK_TEXT, &key) || !oto_pack_next(&record->reader, &item)) {
            return false;
        }
        int64_t *number = oto_pack_is_text(&key, "sec") ? &sec : oto_pack_is_text(&key, "nanosec") ? &nanosec : NULL;
        if (number == NULL || !signed_of(&item, number)) {
            return false;
        }
    }
    if (nanosec < 0 || nanosec >= NS_PER_S || __builtin_mul_overflow(sec, (int64_t)NS_PER_S, &t_ns) ||
        __builtin_add_overflow(t_ns, nanosec, &t_ns)) {
        return false;
    }
    record->head->t_ns = t_ns;
    return true;
}

static bool take_frame_id(struct record *record)
{
    struct oto_pack_item item;
    if (!oto_pack_expect(&record->reader, OTO_PACK_TEXT, &item)) {
        return false;
    }
    return record->frame_id == NULL || oto_pack_copy_text(&item, record->frame_id, record->frame_id_bytes);
}

static bool take_header(struct record *record)
{
    struct oto_pack_item map, key, item;
    bool have_seq = false, have_stamp = false, good = true;
    if (record->have_header || !oto_pack_expect(&record->reader, OTO_PACK_MAP, &map)) {
        return false;
    }
    record->have_header = true;
    for (uint32_t i = 0; good && i < map.count; i++) {
        if (!oto_pack_expect(&record->reader, OTO_PACK_TEXT, &key)) {
            return false;
        }
        if (oto_pack_is_text(&key, "seq")) {
            good = oto_pack_expect(&record->reader, OTO_PACK_UNSIGNED, &item);
            record->head->seq = item.number;
            have_seq = true;
        } else if (oto_pack_is_text(&key, "stamp")) {
            good = take_stamp(record);
            have_stamp = true;
        } else {
            good = oto_pack_is_text(&key, "frame_id") ? take_frame_id(record) : oto_pack_skip(&record->reader);
        }
    }
    return good && have_seq && have_stamp;
}

static bool take_otolith(struct record *record)
{
    struct oto_pack_item map, key, item;
    bool good = true;
    if (record->have_otolith || !oto_pack_expect(&record->reader, OTO_PACK_MAP, &map)) {
        return false;
    }
    record->have_otolith = true;
    for (uint32_t i = 0; good && i < map.count; i++) {
        if (!oto_pack_expect(&record->reader, OTO_PACK_TEXT, &key)) {
            return false;
        }
        if (oto_pack_is_text(&key, "sensor_time_ns")) {
            good = oto_pack_next(&record->reader, &item) && signed_of(&item, &record->head->sensor_time_ns);
        } else if (oto_pack_is_text(&key, "flags")) {
            good = oto_pack_expect(&record->reader, OTO_PACK_UNSIGNED, &item) && item.number <= UINT32_MAX;
            record->head->flags = (uint32_t)item.number;
        } else {
            good = oto_pack_skip(&record->reader);
        }
    }
    return good;
}

static bool take_record(struct record *record)
{
    struct oto_pack_item map, key;
    char name[OTO_FIELD_NAME_BYTES + 1];
    if (!oto_pack_expect(&record->reader, OTO_PACK_MAP, &map)) {
        return false;
    }
    bool good = true;
    for (uint32_t i = 0; good && i < map.count; i++) {
        if (!oto_pack_expect(&record->reader, OTO_PACK_TEXT, &key)) {
            return false;
        }
        good = oto_pack_is_text(&key, "header")    ? take_header(record)
               : oto_pack_is_text(&key, "otolith") ? take_otolith(record)
                                                   : take_pair(record, &key, name, 0);
    }
    return good && record->have_header && record->have_otolith && record->found == record->type->field_count;
}

bool oto_frame_record(struct oto_pack_reader *reader, const struct oto_record_type *type, struct oto_sample_head *head,
                      void *payload, char *frame_id, size_t frame_id_bytes)
{
    *head = (struct oto_sample_head){.bytes = type->bytes};
    memset(payload, 0, type->bytes);
    struct record record = {.reader = *reader,
                            .type = type,
                            .payload = payload,
                            .head = head,
                            .frame_id = frame_id,
                            .frame_id_bytes = frame_id_bytes};
    const bool whole = take_record(&record);
    *reader = record.reader;
    return whole;
}
