#include "json.h"

#include <inttypes.h>
#include <string.h>

void json_member(FILE *to, const char *before, const char *key, double number)
{
    (void)fprintf(to, "%s\"%s\": ", before, key);
    oto_json_put_number(to, number);
}

void json_line(FILE *to, const char *text)
{
    /* A line break between tokens only: oto_json_put_text() escapes those of strings. */
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '\n') {
            c += strspn(c + 1, " ");
            (void)fputc(c[1] != '\0' ? ' ' : '\n', to);
        } else {
            (void)fputc(*c, to);
        }
    }
}

static void json_element(FILE *to, const struct oto_field *field, const void *payload, uint32_t element)
{
    if (field->type == OTO_FIELD_F64 || field->type == OTO_FIELD_F32) {
        oto_json_put_number(to, oto_field_number(field, payload, element));
        return;
    }
    char text[OTO_RECORD_MAX_BYTES + 1];
    (void)oto_field_format(field, payload, element, text, sizeof text);
    if (field->type == OTO_FIELD_TEXT) {
        oto_json_put_text(to, text);
    } else {
        (void)fputs(text, to);
    }
}

static void json_value(FILE *to, const struct oto_field *field, const void *payload)
{
    if (field->count == 1 || field->type == OTO_FIELD_TEXT) {
        json_element(to, field, payload, 0);
        return;
    }
    (void)fputc('[', to);
    for (uint32_t i = 0; i < field->count; i++) {
        (void)fputs(i > 0 ? ", " : "", to);
        json_element(to, field, payload, i);
    }
    (void)fputc(']', to);
}

/* Fields with the same prefix up to a dot are adjacent in the table and become one object. */
static void json_fields(FILE *to, const struct oto_field *fields, uint32_t count, size_t skip, const void *payload)
{
    for (uint32_t i = 0; i < count;) {
        const char *name = fields[i].name + skip;
        const char *dot = strchr(name, '.');
        (void)fputs(i > 0 ? ", " : "", to);
        if (dot == NULL) {
            oto_json_put_text(to, name);
            (void)fputs(": ", to);
            json_value(to, &fields[i], payload);
            i++;
            continue;
        }
        const size_t prefix = (size_t)(dot - name) + 1;
        uint32_t end = i + 1;
        while (end < count && strncmp(fields[end].name + skip, name, prefix) == 0) {
            end++;
        }
        (void)fprintf(to, "\"%.*s\": {", (int)prefix - 1, name);
        json_fields(to, &fields[i], end - i, skip + prefix, payload);
        (void)fputc('}', to);
        i = end;
    }
}

void json_sample(FILE *to, const struct oto_record_type *type, const char *frame_id, const struct oto_sample_head *head,
                 const void *payload)
{
    (void)fprintf(to, "{\"header\": {\"seq\": %" PRIu64 ", \"stamp\": {\"sec\": %" PRId64 ", \"nanosec\": %" PRId64 "}, \"frame_id\": ",
                  head->seq, head->t_ns / 1000000000, head->t_ns % 1000000000);
    oto_json_put_text(to, frame_id);
    (void)fputs("}, ", to);
    json_fields(to, type->fields, type->field_count, 0, payload);
    (void)fprintf(to, ", \"otolith\": {\"sensor_time_ns\": %" PRId64 ", \"flags\": %" PRIu32 "}}", head->sensor_time_ns,
                  head->flags);
}
