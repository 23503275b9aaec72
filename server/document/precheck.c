/*
 * Refuses input that libfyaml 0.7.12 misreads without notice, or for which it takes memory without limit (all
 * reproduced). It ends the text at a NUL or at bytes that are not UTF-8, without an error. It keeps every token of a
 * line until it knows whether the first list of the line is a key (1 KiB for each pair of a one-line map). It keeps
 * every opening bracket until its closing one. It compares each %TAG with all others.
 */
#include "document/internal.h"

struct scan {
    const unsigned char *at, *end;
    uint32_t line, column;
    size_t line_values, lists; /* upper limits of the number of values: on this line, and in the document */
    bool may_be_directive;     /* only comments and blank lines since the start or the last `...` */
};

/* Length of the well-formed UTF-8 sequence at `at` (RFC 3629); 0 if there is none. */
static size_t utf8_length(const unsigned char *at, const unsigned char *end)
{
    static const struct {
        unsigned char first, last, low, high, bytes;
    } ranges[] = {
        {0x00, 0x7f, 0x80, 0xbf, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        if (*at < ranges[i].first || *at > ranges[i].last)
            continue;
        if ((size_t)(end - at) < ranges[i].bytes)
            return 0;
        for (size_t k = 1; k < ranges[i].bytes; k++)
            if (at[k] < (k == 1 ? ranges[i].low : 0x80) || at[k] > (k == 1 ? ranges[i].high : 0xbf))
                return 0;
        return ranges[i].bytes;
    }
    return 0;
}

static bool is_forbidden(unsigned char byte)
{
    return byte < 0x20 ? byte != '\t' && byte != '\n' && byte != '\r' : byte == 0x7f;
}

static void line_starts(struct scan *scan, bool *directive)
{
    const unsigned char *at = scan->at;
    *directive = scan->may_be_directive && at < scan->end && *at == '%';
    if (scan->end - at >= 3 && memcmp(at, "...", 3) == 0) {
        scan->may_be_directive = true;
        return;
    }
    while (at < scan->end && (*at == ' ' || *at == '\t'))
        at++;
    if (at < scan->end && *at != '#' && *at != '\n' && *at != '\r')
        scan->may_be_directive = false;
}

static enum oto_status check_character(struct scan *scan, struct doc_place place,
                                       const struct oto_document_limits *limits, struct oto_error *error)
{
    size_t length = utf8_length(scan->at, scan->end);
    if (length == 0)
        return doc_fail(place, error, OTO_SYNTAX, "expected UTF-8 text, got the byte 0x%02x", *scan->at);
    if (is_forbidden(*scan->at))
        return doc_fail(place, error, OTO_SYNTAX, "expected text, got the control character 0x%02x", *scan->at);
    scan->line_values += strchr(",:[{&!*?", *scan->at) != NULL;
    scan->lists += *scan->at == '[' || *scan->at == '{';
    if (scan->line_values > limits->nodes || scan->lists > limits->nodes)
        return doc_fail(place, error, OTO_LIMIT, "more than %zu values, the most that is accepted", limits->nodes);
    scan->column++;
    if (*scan->at == '\n') {
        scan->line++;
        scan->column = 1;
        scan->line_values = 0;
    }
    scan->at += length;
    return OTO_OK;
}

enum oto_status doc_precheck(const char *file, const char *text, size_t bytes, const struct oto_document_limits *limits,
                             struct oto_error *error)
{
    struct scan scan = {(const unsigned char *)text, (const unsigned char *)text + bytes, 1, 1, 0, 0, true};
    struct doc_place place = {file, 0, 0};
    enum oto_status status = OTO_OK;
    if (bytes > limits->bytes)
        return doc_fail(place, error, OTO_LIMIT, "more than %zu bytes, the most that is accepted", limits->bytes);
    while (status == OTO_OK && scan.at < scan.end) {
        bool directive = false;
        place.line = scan.line;
        place.column = scan.column;
        if (scan.column == 1)
            line_starts(&scan, &directive);
        if (directive)
            return doc_fail(place, error, OTO_SYNTAX,
                            "directives are not accepted: remove the line that begins with %%");
        status = check_character(&scan, place, limits, error);
    }
    return status;
}
