/*
 * Messages of the control socket (A22). One datagram is one msgpack map:
 *     {v: 1, id: u64, op: text, <argument>: value, …}
 * A reply has op "reply" and the arguments `status` (enum oto_status), `tick`, `text` and what the request asked for.
 * Decoding has fixed limits: at most OTO_MESSAGE_MAX_BYTES, at most OTO_MESSAGE_MAX_ARGUMENTS arguments, lists of
 * numbers or texts only, no deeper nesting. Nothing is allocated from sizes that a message claims. Shared by the server
 * and its clients. Pure: any thread.
 *
 * The requests and their arguments are the table of wire/control_verbs.h. Each gets one reply with the same id, except `ack`.
 *
 * An empty list is decoded as U64_LIST with count 0, and both list pointers are set. A negative whole number is an F64.
 * Texts are valid UTF-8: decoding refuses others, writing replaces an invalid byte by '?'.
 */
#ifndef OTO_CONTROL_MESSAGE_H
#define OTO_CONTROL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"

#define OTO_MESSAGE_MAX_BYTES 65536u
#define OTO_MESSAGE_MAX_ARGUMENTS 24u
#define OTO_MESSAGE_MAX_LIST 1024u
#define OTO_MESSAGE_KEY_BYTES 24u

enum oto_argument_kind {
    OTO_ARGUMENT_TEXT = 1,
    OTO_ARGUMENT_U64 = 2, /* also a non-negative integer in a signed encoding */
    OTO_ARGUMENT_F64 = 3, /* a U64 is accepted where an F64 is expected */
    OTO_ARGUMENT_BOOL = 4,
    OTO_ARGUMENT_U64_LIST = 5,
    OTO_ARGUMENT_TEXT_LIST = 6
};

struct oto_argument {
    char key[OTO_MESSAGE_KEY_BYTES];
    enum oto_argument_kind kind;
    uint32_t count;            /* number of items of a list */
    uint64_t u64;              /* U64, BOOL */
    double f64;
    const char *text;          /* TEXT: NUL-terminated, in the message's own storage; contains no NUL */
    const uint64_t *u64_list;  /* in the message's own storage */
    const char *const *text_list;
};

/* A decoded message. It is large (about 100 KiB): keep it in the connection, not on the stack. */
struct oto_message {
    uint64_t id;
    char op[OTO_MESSAGE_KEY_BYTES];
    uint32_t argument_count;
    struct oto_argument arguments[OTO_MESSAGE_MAX_ARGUMENTS];
    uint64_t lists[OTO_MESSAGE_MAX_LIST];
    const char *texts[OTO_MESSAGE_MAX_LIST];
    char storage[OTO_MESSAGE_MAX_BYTES + OTO_MESSAGE_MAX_LIST + OTO_MESSAGE_MAX_ARGUMENTS];
};

/* Returns OTO_OK, or OTO_CORRUPT, OTO_LIMIT or OTO_VERSION with a sentence. */
enum oto_status oto_message_decode(const void *data, size_t bytes, struct oto_message *message, struct oto_error *error);

/* Gets an argument by key and kind. The error names the op, the key and the expected kind. */
const struct oto_argument *oto_message_find(const struct oto_message *message, const char *key);
enum oto_status oto_message_check(const struct oto_message *message, const char *key, enum oto_argument_kind kind,
                                  struct oto_error *error);
enum oto_status oto_message_text(const struct oto_message *message, const char *key, const char **text,
                                 struct oto_error *error);
enum oto_status oto_message_u64(const struct oto_message *message, const char *key, uint64_t *number,
                                struct oto_error *error);
enum oto_status oto_message_f64(const struct oto_message *message, const char *key, double *number,
                                struct oto_error *error);
enum oto_status oto_message_bool(const struct oto_message *message, const char *key, bool *flag,
                                 struct oto_error *error);

/* The value of an argument that was checked (control_verbs.h), or `absent` if the message does not have it. */
const char *oto_message_text_or(const struct oto_message *message, const char *key, const char *absent);
uint64_t oto_message_u64_or(const struct oto_message *message, const char *key, uint64_t absent);
double oto_message_f64_or(const struct oto_message *message, const char *key, double absent);
bool oto_message_flag(const struct oto_message *message, const char *key);

/* Writes a datagram into a caller's buffer. After an overflow further calls do nothing and finish returns 0. */
struct oto_message_writer {
    unsigned char *data;
    size_t capacity, bytes;
    uint32_t arguments;
    bool overflow;
};
void oto_message_begin(struct oto_message_writer *writer, void *data, size_t capacity, uint64_t id, const char *op);
void oto_message_add_text(struct oto_message_writer *writer, const char *key, const char *text);
void oto_message_add_u64(struct oto_message_writer *writer, const char *key, uint64_t number);
void oto_message_add_f64(struct oto_message_writer *writer, const char *key, double number);
void oto_message_add_bool(struct oto_message_writer *writer, const char *key, bool flag);
void oto_message_add_u64_list(struct oto_message_writer *writer, const char *key, const uint64_t *list, uint32_t count);
void oto_message_add_text_list(struct oto_message_writer *writer, const char *key, const char *const *list,
                               uint32_t count);
size_t oto_message_finish(struct oto_message_writer *writer);

#endif
