/* The only file that includes libfyaml. Its events go to the builder; its diagnostics become one sentence. */
#include "document/internal.h"

#include <errno.h>
#include <libfyaml.h>

static void swallow(struct fy_diag *diag, void *user, const char *text, size_t bytes)
{
    (void)diag;
    (void)user;
    (void)text;
    (void)bytes;
}

static struct fy_diag *make_diag(void)
{
    struct fy_diag_cfg config;
    fy_diag_cfg_default(&config);
    config.fp = NULL;
    config.output_fn = swallow;
    config.level = FYET_ERROR;
    config.colorize = false;
    struct fy_diag *diag = fy_diag_create(&config);
    if (diag != NULL)
        fy_diag_set_collect_errors(diag, true);
    return diag;
}

static struct doc_place place_of(const struct doc_builder *builder, const struct fy_mark *mark)
{
    if (mark == NULL || mark->line < 0)
        return (struct doc_place){builder->file, 0, 0};
    return (struct doc_place){builder->file, (uint32_t)mark->line + 1, (uint32_t)mark->column + 1};
}

/* Diagnostics of libfyaml, and what we report to a reader who does not know the terms of YAML. */
static const struct {
    const char *theirs, *ours;
} sentences[] = {
    {"invalid tab as indendation", "the line is indented with a tab: use spaces"},
    {"invalid tab", "the line is indented with a tab: use spaces"},
    {"did not find expected node content", "expected a value here"},
    {"invalid nested block mapping on the same line", "a second 'key:' on one line: put quotes round a text with ': '"},
    {"invalid multiline plain key", "expected 'key: value': the line continues the one above, or is indented wrongly"},
    {"flow sequence without a closing bracket", "the ']' that closes a list is missing"},
    {"flow mapping without a closing brace", "the '}' that closes a map is missing"},
    {"double-quoted scalar without closing quote", "the closing \" of a text is missing"},
    {"single-quoted scalar without closing quote", "the closing ' of a text is missing"},
    {"missing comma in flow mapping", "a ',' or '}' is missing in a map"},
    {"missing comma in flow sequence", "a ',' or ']' is missing in a list"},
};

static const char *rephrased(const char *theirs)
{
    for (size_t i = 0; i < sizeof sentences / sizeof *sentences; i++)
        if (strstr(theirs, sentences[i].theirs) != NULL)
            return sentences[i].ours;
    return theirs;
}

static enum oto_status no_memory(struct doc_builder *builder)
{
    return oto_fail(builder->error, OTO_NO_MEMORY, "out of memory while reading %s", builder->file);
}

static enum oto_status syntax_error(struct doc_builder *builder, struct fy_diag *diag)
{
    void *iterator = NULL;
    const struct fy_diag_error *found = fy_diag_errors_iterate(diag, &iterator);
    struct doc_place place = {builder->file, 0, 0}, begin;
    enum oto_value_kind kind;
    if ((found == NULL || found->msg == NULL) && errno == ENOMEM)
        return no_memory(builder);
    if (found == NULL || found->msg == NULL)
        return doc_fail(place, builder->error, OTO_SYNTAX, "expected YAML or JSON");
    place.line = found->line > 0 ? (uint32_t)found->line : 0;
    place.column = found->column > 0 ? (uint32_t)found->column : 0;
    if (doc_builder_inside(builder, &begin, &kind) && begin.line < place.line)
        return doc_fail(place, builder->error, OTO_SYNTAX, "%s (in the %s that begins at %u:%u)", rephrased(found->msg),
                        kind == OTO_VALUE_MAP ? "map" : "list", begin.line, begin.column);
    return doc_fail(place, builder->error, OTO_SYNTAX, "%s", rephrased(found->msg));
}

/* Longest notation of one byte of text: \U00000041. */
enum { SOURCE_BYTES_PER_BYTE = 10 };

/* Tested before the text is made: for a text with many escapes libfyaml needs fifty times the length of the source. */
static bool is_too_long(const struct doc_builder *builder, struct fy_event *event)
{
    const struct fy_mark *from = fy_event_start_mark(event), *to = fy_event_end_mark(event);
    return from != NULL && to != NULL && to->input_pos > from->input_pos &&
           (to->input_pos - from->input_pos) / SOURCE_BYTES_PER_BYTE > builder->limits.text_bytes;
}

static enum oto_status take_scalar(struct doc_builder *builder, struct fy_event *event)
{
    struct doc_place place = place_of(builder, fy_event_start_mark(event));
    struct fy_token *token = fy_event_get_token(event);
    enum fy_scalar_style style = token != NULL ? fy_scalar_token_get_style(token) : FYSS_PLAIN;
    size_t bytes = 0;
    if (is_too_long(builder, event))
        return doc_fail(place, builder->error, OTO_LIMIT, "a text of more than %zu bytes, the most that is accepted",
                        builder->limits.text_bytes);
    const char *text = token != NULL ? fy_token_get_text(token, &bytes) : "";
    /* libfyaml returns an empty text when it is out of memory. */
    if (text == NULL || (bytes == 0 && token != NULL && fy_token_get_text_length(token) > 0))
        return no_memory(builder);
    /* libfyaml places a quoted text one column after its quote. */
    if ((style == FYSS_SINGLE_QUOTED || style == FYSS_DOUBLE_QUOTED) && place.column > 1)
        place.column--;
    return doc_builder_scalar(builder, place, text, bytes, style != FYSS_PLAIN && style != FYSS_ANY);
}

static enum oto_status refuse_properties(struct doc_builder *builder, struct fy_event *event)
{
    struct fy_token *anchor = fy_event_get_anchor_token(event), *tag = fy_event_get_tag_token(event);
    struct doc_place place = place_of(builder, fy_event_start_mark(event));
    if (anchor != NULL || tag != NULL)
        place = place_of(builder, fy_token_start_mark(anchor != NULL ? anchor : tag));
    /* libfyaml places a name one column after its * or &. */
    if ((anchor != NULL || event->type == FYET_ALIAS) && place.column > 1)
        place.column--;
    if (event->type == FYET_ALIAS)
        return doc_fail(place, builder->error, OTO_SYNTAX, "aliases (*name) are not accepted: write the value out, or once under `defaults:` of a world");
    if (anchor != NULL)
        return doc_fail(place, builder->error, OTO_SYNTAX, "anchors (&name) are not accepted: what vehicles share is written once under `defaults:` of a world");
    if (tag != NULL)
        return doc_fail(place, builder->error, OTO_SYNTAX, "tags (!name) are not accepted: remove it");
    return OTO_OK;
}

static enum oto_status take_event(struct doc_builder *builder, struct fy_event *event)
{
    struct doc_place place = place_of(builder, fy_event_start_mark(event));
    enum oto_status status = refuse_properties(builder, event);
    if (status != OTO_OK)
        return status;
    switch (event->type) {
    case FYET_DOCUMENT_START:
        if (builder->root != NULL)
            return doc_fail(place, builder->error, OTO_SYNTAX,
                            "a second document (---) begins here, only one is accepted");
        return OTO_OK;
    case FYET_MAPPING_START:
        return doc_builder_open(builder, place, OTO_VALUE_MAP);
    case FYET_SEQUENCE_START:
        return doc_builder_open(builder, place, OTO_VALUE_LIST);
    case FYET_MAPPING_END:
    case FYET_SEQUENCE_END:
        return doc_builder_close(builder);
    case FYET_SCALAR:
        return take_scalar(builder, event);
    default:
        return OTO_OK;
    }
}

static enum oto_status take_events(struct doc_builder *builder, struct fy_parser *parser, struct fy_diag *diag)
{
    enum oto_status status = OTO_OK;
    struct fy_event *event;
    errno = 0; /* libfyaml does not report a failed allocation, but malloc() sets errno */
    while (status == OTO_OK && (event = fy_parser_parse(parser)) != NULL) {
        status = take_event(builder, event);
        fy_parser_event_free(parser, event);
    }
    if (status == OTO_OK && fy_parser_get_stream_error(parser))
        return syntax_error(builder, diag);
    if (status == OTO_OK && builder->root == NULL)
        return doc_fail((struct doc_place){builder->file, 1, 1}, builder->error, OTO_SYNTAX,
                        "expected YAML or JSON, got nothing");
    return status;
}

enum oto_status doc_parse_events(struct doc_builder *builder, const char *text, size_t bytes)
{
    enum oto_status status = OTO_NO_MEMORY;
    struct fy_diag *diag = make_diag();
    struct fy_parse_cfg config = {.flags = FYPCF_COLLECT_DIAG | FYPCF_JSON_NONE | FYPCF_DEFAULT_VERSION_1_2,
                                  .diag = diag};
    struct fy_parser *parser = diag != NULL ? fy_parser_create(&config) : NULL;
    if (parser == NULL || fy_parser_set_string(parser, text, bytes) != 0)
        (void)no_memory(builder);
    else
        status = take_events(builder, parser, diag);
    fy_parser_destroy(parser);
    fy_diag_destroy(diag);
    return status;
}
