/*
 * The log of a run: lines of JSON, each a flat object of texts, whole numbers and booleans. The first line is the
 * header (server/daemon/log/README.md lists the entries). Reading has fixed limits: a hostile file causes an error with
 * its line, and needs no more memory than the longest line allowed. A pure function parses lines; a reader holds one
 * file. [loop]
 */
#ifndef OTO_RUN_LOG_H
#define OTO_RUN_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "otolith/status.h"

#define OTO_RUN_LOG_FORMAT "otolith-log"
#define OTO_RUN_LOG_VERSION 2u
#define OTO_RUN_LOG_MEMBERS 24u
#define OTO_RUN_LOG_LINE_BYTES (4u << 20)

enum oto_run_log_kind { OTO_RUN_LOG_TEXT = 1, OTO_RUN_LOG_NUMBER, OTO_RUN_LOG_TRUTH };

struct oto_run_log_member {
    const char *key;
    enum oto_run_log_kind kind;
    const char *text; /* TEXT; contains no NUL */
    uint64_t number;  /* NUMBER; for TRUTH (true, false) 1 or 0 */
};

struct oto_run_log_line {
    struct oto_run_log_member members[OTO_RUN_LOG_MEMBERS];
    uint32_t count;
    const char *entry; /* the value of the member "entry" */
    uint64_t tick;     /* tick of this entry; if it has none, tick of the previous entry */
    bool has_tick;
    uint64_t number;   /* number of the line in its file, from 1 */
};

/* Parses `bytes` bytes of text in place. Texts of the line point into it; text[bytes] is overwritten. */
enum oto_status oto_run_log_parse(char *text, size_t bytes, struct oto_run_log_line *line, struct oto_error *error);

/* Get a member: NULL or false if the key is absent or its value is of another kind. */
const char *oto_run_log_text(const struct oto_run_log_line *line, const char *key);
bool oto_run_log_number(const struct oto_run_log_line *line, const char *key, uint64_t *number);
bool oto_run_log_truth(const struct oto_run_log_line *line, const char *key); /* false if it is absent */
/* Gets a word of 16 hexadecimal digits; false if there is none. */
bool oto_run_log_word(const struct oto_run_log_line *line, const char *key, uint64_t *word);
/* Gets exactly `count` words: "16 digits, a space, 16 digits …". */
bool oto_run_log_words(const struct oto_run_log_line *line, const char *key, uint64_t *words, uint32_t count);

/* ---- reading a file ---- */

struct oto_run_log_reader;

/* Opens a log and reads its first line. `header` is valid until the next call. */
enum oto_status oto_run_log_open(const char *path, struct oto_run_log_reader **reader, struct oto_run_log_line *header,
                             struct oto_error *error);
/*
 * Reads the next line; OTO_CLOSED after the last one. Ticks never decrease. A last line without its end was cut off by
 * a crash: it is ignored, and oto_run_log_was_cut reports it.
 */
enum oto_status oto_run_log_next(struct oto_run_log_reader *reader, struct oto_run_log_line *line, struct oto_error *error);
bool oto_run_log_was_cut(const struct oto_run_log_reader *reader);
/* Makes an error about the line that was read last: "FILE line 12: …". */
enum oto_status oto_run_log_wrong(const struct oto_run_log_reader *reader, struct oto_error *error, enum oto_status status,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));
void oto_run_log_close(struct oto_run_log_reader *reader); /* NULL is allowed */

/* ---- writing ---- */

void oto_run_log_put_begin(struct oto_json *to, const char *entry); /* {"entry": "…" */
void oto_run_log_put_words(struct oto_json *to, const char *key, const uint64_t *words, uint32_t count);
void oto_run_log_put_end(struct oto_json *to);

#endif
