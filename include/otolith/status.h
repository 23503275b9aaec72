/*
 * Statuses and errors. A status is for a program, an error for a person: one sentence that names the offending value,
 * its place, and what would be accepted. Functions return a status; those that can fail because of a user's input also
 * fill an error. Every function here may be called from any thread.
 */
#ifndef OTOLITH_STATUS_H
#define OTOLITH_STATUS_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks a function that libotolith exports. */
#define OTO_API __attribute__((visibility("default")))

/* clang-format off */
#define OTO_STATUS_TABLE(X) \
    X(OK,          0, "ok") \
    X(INVALID,     1, "invalid argument or value") \
    X(NOT_FOUND,   2, "not found") \
    X(EXISTS,      3, "exists already") \
    X(NO_MEMORY,   4, "out of memory") \
    X(IO,          5, "input/output error") \
    X(SYNTAX,      6, "syntax error") \
    X(RANGE,       7, "value out of range") \
    X(LIMIT,       8, "limit exceeded") \
    X(VERSION,     9, "version not supported") \
    X(CORRUPT,    10, "corrupt data") \
    X(DENIED,     11, "not permitted") \
    X(TIMEOUT,    12, "timed out") \
    X(AGAIN,      13, "nothing new") \
    X(LAPPED,     14, "overtaken by the writer") \
    X(CLOSED,     15, "closed") \
    X(CONFLICT,   16, "conflicts with another change") \
    X(UNSUPPORTED,17, "not supported") \
    X(PLUGIN,     18, "the plugin refused or failed")
/* clang-format on */

enum oto_status {
#define OTO_X(name, number, text) OTO_##name = number,
    OTO_STATUS_TABLE(OTO_X)
#undef OTO_X
};

/* The text of a status, never NULL. */
static inline const char *oto_status_text(enum oto_status status)
{
    switch (status) {
#define OTO_X(name, number, text) \
    case OTO_##name: \
        return text;
        OTO_STATUS_TABLE(OTO_X)
#undef OTO_X
    }
    return "unknown status";
}

/* Receives a sentence about a value that is accepted but implausible. */
typedef void (*oto_warn_function)(void *context, const char *sentence);

#define OTO_ERROR_TEXT_BYTES 512

struct oto_error {
    enum oto_status status;
    char text[OTO_ERROR_TEXT_BYTES]; /* no newline at the end, empty while status is OTO_OK */
};

/* Fills `error` (which may be NULL) and returns `status`, so that a failure is one statement. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
static inline enum oto_status
oto_fail(struct oto_error *error, enum oto_status status, const char *format, ...)
{
    if (error != NULL) {
        va_list arguments;
        va_start(arguments, format);
        error->status = status;
        (void)vsnprintf(error->text, sizeof error->text, format, arguments);
        va_end(arguments);
    }
    return status;
}

#ifdef __cplusplus
}
#endif

#endif
