#include "wire/control_message.h"

#include <string.h>

#include "otolith/version.h"
#include "wire/pack_read.h"
#include "base/utf8.h"

static const char *const kind_texts[] = {"",       "a text",          "a whole number that is not negative",
                                         "a number", "true or false", "a list of whole numbers",
                                         "a list of texts"};

/* Where the next text, number and pointer of the message are stored. */
struct filler {
    struct oto_message *message;
    struct oto_pack_reader reader;
    size_t storage_used;
    uint32_t list_used;
    bool have_version, have_id, have_op;
    struct oto_error *error;
};

static enum oto_status corrupt(const struct filler *filler, const char *key, const char *why)
{
    return oto_fail(filler->error, OTO_CORRUPT, "control message: %s%s%s%s", key[0] != '\0' ? "'" : "", key,
                    key[0] != '\0' ? "' " : "", why);
}

/* Copies a text into the storage. The storage has room for every byte of a message and a NUL for each text. */
static enum oto_status store_text(struct filler *filler, const char *key, const struct oto_pack_item *item,
                                  const char **text)
{
    if (item->count > 0 && memchr(item->data, '\0', item->count) != NULL) {
        return corrupt(filler, key, "holds a NUL byte; texts must not");
    }
    if (oto_utf8_valid_bytes(item->data, item->count) != item->count) {
        return corrupt(filler, key, "is not valid UTF-8");
    }
    char *to = filler->message->storage + filler->storage_used;
    if (item->count > 0) {
        memcpy(to, item->data, item->count);
    }
    to[item->count] = '\0';
    filler->storage_used += (size_t)item->count + 1;
    *text = to;
    return OTO_OK;
}

static enum oto_status take_list(struct filler *filler, struct oto_argument *argument, uint32_t count)
{
    struct oto_message *message = filler->message;
    if (count > OTO_MESSAGE_MAX_LIST - filler->list_used) {
        return oto_fail(filler->error, OTO_LIMIT, "control message: list '%s' has %u items; at most %u in a message",
                        argument->key, count, OTO_MESSAGE_MAX_LIST);
    }
    argument->kind = OTO_ARGUMENT_U64_LIST;
    argument->count = count;
    argument->u64_list = message->lists + filler->list_used;
    argument->text_list = message->texts + filler->list_used;
    for (uint32_t i = 0; i < count; i++) {
        struct oto_pack_item item;
        if (!oto_pack_next(&filler->reader, &item)) {
            return corrupt(filler, argument->key, "is cut off");
        }
        const enum oto_argument_kind kind = item.kind == OTO_PACK_UNSIGNED ? OTO_ARGUMENT_U64_LIST
                                            : item.kind == OTO_PACK_TEXT  ? OTO_ARGUMENT_TEXT_LIST
                                                                          : OTO_ARGUMENT_BOOL;
        if (kind == OTO_ARGUMENT_BOOL || (i > 0 && kind != argument->kind)) {
            return corrupt(filler, argument->key, "is a list of other things than whole numbers only or texts only");
        }
        argument->kind = kind;
        message->lists[filler->list_used + i] = item.number;
        if (kind == OTO_ARGUMENT_TEXT_LIST) {
            const enum oto_status status =
                store_text(filler, argument->key, &item, &message->texts[filler->list_used + i]);
            if (status != OTO_OK) {
                return status;
            }
        }
    }
    filler->list_used += count;
    return OTO_OK;
}

static enum oto_status take_value(struct filler *filler, struct oto_argument *argument,
                                  const struct oto_pack_item *item)
{
    switch (item->kind) {
    case OTO_PACK_TEXT:
        argument->kind = OTO_ARGUMENT_TEXT;
        return store_text(filler, argument->key, item, &argument->text);
    case OTO_PACK_BOOL:
        argument->kind = OTO_ARGUMENT_BOOL;
        argument->u64 = item->number;
        return OTO_OK;
    case OTO_PACK_UNSIGNED:
        argument->kind = OTO_ARGUMENT_U64;
        argument->u64 = item->number;
        argument->f64 = (double)item->number;
        return OTO_OK;
    case OTO_PACK_NEGATIVE:
        argument->kind = OTO_ARGUMENT_F64;
        argument->f64 = (double)item->negative;
        return OTO_OK;
    case OTO_PACK_FLOAT:
        argument->kind = OTO_ARGUMENT_F64;
        argument->f64 = item->real;
        return OTO_OK;
    case OTO_PACK_ARRAY:
        return take_list(filler, argument, item->count);
    default:
        return corrupt(filler, argument->key, "is a value of a kind that control messages do not carry");
    }
}

/* Stores `v`, `id` and `op`, which are members of the message. False: the key is that of an ordinary argument. */
static bool take_envelope(struct filler *filler, const char *key, const struct oto_pack_item *item,
                          enum oto_status *status)
{
    struct oto_message *message = filler->message;
    *status = OTO_OK;
    if (strcmp(key, "v") == 0) {
        if (filler->have_version || item->kind != OTO_PACK_UNSIGNED) {
            *status = corrupt(filler, key, "must occur once and be a whole number");
        } else if (item->number != OTO_CONTROL_VERSION) {
            *status = oto_fail(filler->error, OTO_VERSION, "control message: version %llu; this side supports %d",
                               (unsigned long long)item->number, OTO_CONTROL_VERSION);
        }
        filler->have_version = true;
        return true;
    }
    if (strcmp(key, "id") == 0) {
        if (filler->have_id || item->kind != OTO_PACK_UNSIGNED) {
            *status = corrupt(filler, key, "must occur once and be a whole number that is not negative");
        }
        message->id = item->number;
        filler->have_id = true;
        return true;
    }
    if (strcmp(key, "op") == 0) {
        if (filler->have_op || !oto_pack_copy_text(item, message->op, sizeof message->op) || item->count == 0 ||
            oto_utf8_valid_bytes(message->op, item->count) != item->count) {
            *status = corrupt(filler, key, "must occur once and be a text of 1 to 23 bytes");
        }
        filler->have_op = true;
        return true;
    }
    return false;
}

static enum oto_status take_pair(struct filler *filler)
{
    struct oto_message *message = filler->message;
    struct oto_pack_item item;
    char key[OTO_MESSAGE_KEY_BYTES];
    if (!oto_pack_next(&filler->reader, &item)) {
        return corrupt(filler, "", "cut off before a key");
    }
    if (!oto_pack_copy_text(&item, key, sizeof key) || item.count == 0 ||
        oto_utf8_valid_bytes(key, item.count) != item.count) {
        return corrupt(filler, "", "a key must be a text of 1 to 23 bytes");
    }
    if (!oto_pack_next(&filler->reader, &item)) {
        return corrupt(filler, key, "has no whole value");
    }
    enum oto_status status;
    if (take_envelope(filler, key, &item, &status)) {
        return status;
    }
    if (oto_message_find(message, key) != NULL) {
        return corrupt(filler, key, "stands twice");
    }
    if (message->argument_count == OTO_MESSAGE_MAX_ARGUMENTS) {
        return oto_fail(filler->error, OTO_LIMIT, "control message: more than %u arguments",
                        OTO_MESSAGE_MAX_ARGUMENTS);
    }
    struct oto_argument *argument = &message->arguments[message->argument_count];
    *argument = (struct oto_argument){.count = 0};
    memcpy(argument->key, key, sizeof key);
    status = take_value(filler, argument, &item);
    message->argument_count += status == OTO_OK;
    return status;
}

enum oto_status oto_message_decode(const void *data, size_t bytes, struct oto_message *message, struct oto_error *error)
{
    struct filler filler = {.message = message, .reader = oto_pack_reader_make(data, bytes), .error = error};
    message->id = 0;
    message->op[0] = '\0';
    message->argument_count = 0;
    if (bytes > OTO_MESSAGE_MAX_BYTES) {
        return oto_fail(error, OTO_LIMIT, "control message of %zu bytes; at most %u", bytes, OTO_MESSAGE_MAX_BYTES);
    }
    struct oto_pack_item map;
    if (!oto_pack_expect(&filler.reader, OTO_PACK_MAP, &map)) {
        return corrupt(&filler, "", "not a whole msgpack map");
    }
    if (map.count > OTO_MESSAGE_MAX_ARGUMENTS + 3) {
        return oto_fail(error, OTO_LIMIT, "control message: %u keys; at most %u", map.count,
                        OTO_MESSAGE_MAX_ARGUMENTS + 3);
    }
    for (uint32_t i = 0; i < map.count; i++) {
        const enum oto_status status = take_pair(&filler);
        if (status != OTO_OK) {
            return status;
        }
    }
    if (filler.reader.at != filler.reader.end) {
        return corrupt(&filler, "", "bytes after its end");
    }
    if (!filler.have_version || !filler.have_id || !filler.have_op) {
        return corrupt(&filler, !filler.have_version ? "v" : !filler.have_id ? "id" : "op", "is missing");
    }
    return OTO_OK;
}

const struct oto_argument *oto_message_find(const struct oto_message *message, const char *key)
{
    for (uint32_t i = 0; i < message->argument_count; i++) {
        if (strcmp(message->arguments[i].key, key) == 0) {
            return &message->arguments[i];
        }
    }
    return NULL;
}

static enum oto_status find_kind(const struct oto_message *message, const char *key, enum oto_argument_kind kind,
                                 const struct oto_argument **argument, struct oto_error *error)
{
    const struct oto_argument *found = oto_message_find(message, key);
    const bool fits =
        found != NULL && (found->kind == kind || (kind == OTO_ARGUMENT_F64 && found->kind == OTO_ARGUMENT_U64));
    if (!fits) {
        return oto_fail(error, OTO_INVALID, "'%s': the argument '%s' %s; it must be %s", message->op, key,
                        found == NULL ? "is missing" : "is of another kind", kind_texts[kind]);
    }
    *argument = found;
    return OTO_OK;
}

enum oto_status oto_message_check(const struct oto_message *message, const char *key, enum oto_argument_kind kind,
                                  struct oto_error *error)
{
    const struct oto_argument *argument;
    return find_kind(message, key, kind, &argument, error);
}

enum oto_status oto_message_text(const struct oto_message *message, const char *key, const char **text,
                                 struct oto_error *error)
{
    const struct oto_argument *argument = NULL;
    const enum oto_status status = find_kind(message, key, OTO_ARGUMENT_TEXT, &argument, error);
    if (status == OTO_OK) {
        *text = argument->text;
    }
    return status;
}

enum oto_status oto_message_u64(const struct oto_message *message, const char *key, uint64_t *number,
                                struct oto_error *error)
{
    const struct oto_argument *argument = NULL;
    const enum oto_status status = find_kind(message, key, OTO_ARGUMENT_U64, &argument, error);
    if (status == OTO_OK) {
        *number = argument->u64;
    }
    return status;
}

enum oto_status oto_message_f64(const struct oto_message *message, const char *key, double *number,
                                struct oto_error *error)
{
    const struct oto_argument *argument = NULL;
    const enum oto_status status = find_kind(message, key, OTO_ARGUMENT_F64, &argument, error);
    if (status == OTO_OK) {
        *number = argument->f64;
    }
    return status;
}

enum oto_status oto_message_bool(const struct oto_message *message, const char *key, bool *flag,
                                 struct oto_error *error)
{
    const struct oto_argument *argument = NULL;
    const enum oto_status status = find_kind(message, key, OTO_ARGUMENT_BOOL, &argument, error);
    if (status == OTO_OK) {
        *flag = argument->u64 != 0;
    }
    return status;
}

const char *oto_message_text_or(const struct oto_message *message, const char *key, const char *absent)
{
    const struct oto_argument *argument = oto_message_find(message, key);
    return argument != NULL && argument->kind == OTO_ARGUMENT_TEXT ? argument->text : absent;
}

uint64_t oto_message_u64_or(const struct oto_message *message, const char *key, uint64_t absent)
{
    (void)oto_message_u64(message, key, &absent, NULL);
    return absent;
}

double oto_message_f64_or(const struct oto_message *message, const char *key, double absent)
{
    (void)oto_message_f64(message, key, &absent, NULL);
    return absent;
}

bool oto_message_flag(const struct oto_message *message, const char *key)
{
    bool flag = false;
    (void)oto_message_bool(message, key, &flag, NULL);
    return flag;
}
