#include "sim/run_log.h"

#include <inttypes.h>
#include <string.h>

#include "base/utf8.h"

/* ---- parsing a line ---- */

struct cursor {
    char *at, *end;
};

static void skip_blanks(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (*cursor->at == ' ' || *cursor->at == '\t' || *cursor->at == '\r')) {
        cursor->at++;
    }
}

static bool take(struct cursor *cursor, char wanted)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end || *cursor->at != wanted) {
        return false;
    }
    cursor->at++;
    return true;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes \u00XX, which the writer uses for control characters only, into `to`. NULL: the text is no such escape. */
static char *control_character(struct cursor *cursor, char *to)
{
    if (cursor->end - cursor->at < 4 || memcmp(cursor->at, "00", 2) != 0) {
        return NULL;
    }
    const int high = digit_of(cursor->at[2]), low = digit_of(cursor->at[3]), code = high * 16 + low;
    cursor->at += 4;
    if (high < 0 || low < 0 || code == 0) {
        return NULL;
    }
    if (code >= 0x80) {
        *to++ = (char)(0xc0 | code >> 6);
    }
    *to++ = (char)(code >= 0x80 ? 0x80 | (code & 0x3f) : code);
    return to;
}

/* Decodes what follows a backslash into `to`. Returns the next place in `to`; NULL: it is no escape. */
static char *unescape(struct cursor *cursor, char *to)
{
    static const char from[] = "\"\\/nrtbf", into[] = "\"\\/\n\r\t\b\f";
    if (cursor->at == cursor->end) {
        return NULL;
    }
    const char c = *cursor->at++;
    if (c == 'u') {
        return control_character(cursor, to);
    }
    const char *found = c != '\0' ? strchr(from, c) : NULL;
    if (found == NULL) {
        return NULL;
    }
    *to++ = into[found - from];
    return to;
}

/* Decodes in place, since a decoded string is never longer than its notation. NULL: the text is no string. */
static const char *take_string(struct cursor *cursor)
{
    if (!take(cursor, '"')) {
        return NULL;
    }
    char *const start = cursor->at, *to = start;
    while (cursor->at < cursor->end && *cursor->at != '"') {
        const char c = *cursor->at++;
        if ((unsigned char)c < 0x20) {
            return NULL;
        }
        if (c != '\\') {
            *to++ = c;
        } else if ((to = unescape(cursor, to)) == NULL) {
            return NULL;
        }
    }
    if (cursor->at == cursor->end) {
        return NULL;
    }
    cursor->at++;
    *to = '\0';
    return oto_utf8_valid_bytes(start, (size_t)(to - start)) == (size_t)(to - start) ? start : NULL;
}

static bool take_number(struct cursor *cursor, uint64_t *number)
{
    const char *first = cursor->at;
    *number = 0;
    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
        const uint64_t digit = (uint64_t)(*cursor->at - '0');
        if (*number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *number = *number * 10 + digit;
    }
    return cursor->at > first && (*first != '0' || cursor->at == first + 1);
}

static bool take_word(struct cursor *cursor, const char *word)
{
    const size_t bytes = strlen(word);
    if ((size_t)(cursor->end - cursor->at) < bytes || memcmp(cursor->at, word, bytes) != 0) {
        return false;
    }
    cursor->at += bytes;
    return true;
}

static bool take_value(struct cursor *cursor, struct oto_run_log_member *member)
{
    skip_blanks(cursor);
    if (cursor->at == cursor->end) {
        return false;
    }
    if (*cursor->at == '"') {
        member->kind = OTO_RUN_LOG_TEXT;
        member->text = take_string(cursor);
        return member->text != NULL;
    }
    if (*cursor->at == 't' || *cursor->at == 'f') {
        member->kind = OTO_RUN_LOG_TRUTH;
        member->number = *cursor->at == 't';
        return take_word(cursor, member->number != 0 ? "true" : "false");
    }
    member->kind = OTO_RUN_LOG_NUMBER;
    return take_number(cursor, &member->number);
}

static const struct oto_run_log_member *find(const struct oto_run_log_line *line, const char *key, enum oto_run_log_kind kind)
{
    for (uint32_t i = 0; i < line->count; i++) {
        if (line->members[i].kind == kind && strcmp(line->members[i].key, key) == 0) {
            return &line->members[i];
        }
    }
    return NULL;
}

static enum oto_status take_member(struct cursor *cursor, struct oto_run_log_line *line, struct oto_error *error)
{
    struct oto_run_log_member member = {0};
    member.key = take_string(cursor);
    if (member.key == NULL) {
        return oto_fail(error, OTO_CORRUPT, "a key in double quotes is needed");
    }
    if (!take(cursor, ':') || !take_value(cursor, &member)) {
        return oto_fail(error, OTO_CORRUPT, "'%.40s': a text, a whole number from 0 to 2^64 - 1, true or false is needed",
                        member.key);
    }
    for (uint32_t i = 0; i < line->count; i++) {
        if (strcmp(line->members[i].key, member.key) == 0) {
            return oto_fail(error, OTO_CORRUPT, "'%.40s' occurs twice", member.key);
        }
    }
    if (line->count == OTO_RUN_LOG_MEMBERS) {
        return oto_fail(error, OTO_LIMIT, "an entry has more than %u members", OTO_RUN_LOG_MEMBERS);
    }
    line->members[line->count++] = member;
    return OTO_OK;
}

enum oto_status oto_run_log_parse(char *text, size_t bytes, struct oto_run_log_line *line, struct oto_error *error)
{
    struct cursor cursor = {text, text + bytes};
    const uint64_t before = line->tick;
    line->count = 0;
    text[bytes] = '\0';
    if (!take(&cursor, '{')) {
        return oto_fail(error, OTO_CORRUPT, "an entry in braces is needed");
    }
    do {
        const enum oto_status status = take_member(&cursor, line, error);
        if (status != OTO_OK) {
            return status;
        }
    } while (take(&cursor, ','));
    const bool closed = take(&cursor, '}');
    skip_blanks(&cursor);
    if (!closed || cursor.at != cursor.end) {
        return oto_fail(error, OTO_CORRUPT, "an entry ends with one brace, and nothing after it");
    }
    line->entry = oto_run_log_text(line, "entry");
    if (line->entry == NULL) {
        return oto_fail(error, OTO_CORRUPT, "the member 'entry' is missing");
    }
    line->has_tick = oto_run_log_number(line, "tick", &line->tick);
    if (line->has_tick && line->tick < before) {
        return oto_fail(error, OTO_CORRUPT, "tick %" PRIu64 " comes after tick %" PRIu64 ": entries are in the order of ticks",
                        line->tick, before);
    }
    line->tick = line->has_tick ? line->tick : before;
    return OTO_OK;
}

/* ---- reading members ---- */

const char *oto_run_log_text(const struct oto_run_log_line *line, const char *key)
{
    const struct oto_run_log_member *member = find(line, key, OTO_RUN_LOG_TEXT);
    return member != NULL ? member->text : NULL;
}

bool oto_run_log_number(const struct oto_run_log_line *line, const char *key, uint64_t *number)
{
    const struct oto_run_log_member *member = find(line, key, OTO_RUN_LOG_NUMBER);
    if (member != NULL) {
        *number = member->number;
    }
    return member != NULL;
}

bool oto_run_log_truth(const struct oto_run_log_line *line, const char *key)
{
    const struct oto_run_log_member *member = find(line, key, OTO_RUN_LOG_TRUTH);
    return member != NULL && member->number != 0;
}

bool oto_run_log_words(const struct oto_run_log_line *line, const char *key, uint64_t *words, uint32_t count)
{
    const char *at = oto_run_log_text(line, key);
    for (uint32_t i = 0; i < count; i++) {
        if (at == NULL || (i > 0 && *at++ != ' ')) {
            return false;
        }
        words[i] = 0;
        for (int k = 0; k < 16; k++, at++) {
            const int digit = digit_of(*at); /* the terminating NUL is no digit */
            if (digit < 0) {
                return false;
            }
            words[i] = words[i] << 4 | (uint64_t)digit;
        }
    }
    return at != NULL && *at == '\0';
}

bool oto_run_log_word(const struct oto_run_log_line *line, const char *key, uint64_t *word)
{
    return oto_run_log_words(line, key, word, 1);
}

/* ---- writing ---- */

void oto_run_log_put_begin(struct oto_json *to, const char *entry)
{
    oto_json_open(to, NULL, '{');
    oto_json_text(to, "entry", entry);
}

/* Most of a log is hashes; this is several times faster than printf. */
void oto_run_log_put_words(struct oto_json *to, const char *key, const uint64_t *words, uint32_t count)
{
    oto_json_format(to, key, "\"");
    for (uint32_t i = 0; i < count; i++) {
        char text[17] = " ";
        for (int k = 0; k < 16; k++) {
            text[k + 1] = "0123456789abcdef"[words[i] >> (60 - 4 * k) & 15];
        }
        oto_json_more(to, i > 0 ? text : text + 1, i > 0 ? 17 : 16);
    }
    oto_json_more(to, "\"", 1);
}

void oto_run_log_put_end(struct oto_json *to)
{
    oto_json_close(to, '}');
    oto_json_more(to, "\n", 1);
}
