#include "csv.h"

#include <inttypes.h>
#include <string.h>

static uint32_t columns_of(const struct oto_field *field)
{
    return field->type == OTO_FIELD_TEXT ? 1 : field->count;
}

void csv_header(FILE *to, const struct oto_record_type *type)
{
    (void)fputs("t_ns,seq", to);
    for (uint32_t i = 0; i < type->field_count; i++) {
        for (uint32_t element = 0; element < columns_of(&type->fields[i]); element++) {
            char name[OTO_FIELD_NAME_BYTES + 16];
            (void)oto_field_column(&type->fields[i], element, name, sizeof name);
            (void)fprintf(to, ",%s", name);
        }
    }
    (void)fputs(",sensor_time_ns,flags\n", to);
}

void csv_cell(FILE *to, const char *text)
{
    if (strpbrk(text, ",\"\n\r") == NULL) {
        (void)fputs(text, to);
        return;
    }
    (void)fputc('"', to);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"') {
            (void)fputc('"', to);
        }
        (void)fputc(*c, to);
    }
    (void)fputc('"', to);
}

void csv_sample(FILE *to, const struct oto_record_type *type, const struct oto_sample_head *head, const void *payload)
{
    (void)fprintf(to, "%" PRId64 ",%" PRIu64, head->t_ns, head->seq);
    for (uint32_t i = 0; i < type->field_count; i++) {
        for (uint32_t element = 0; element < columns_of(&type->fields[i]); element++) {
            char text[OTO_RECORD_MAX_BYTES + 1];
            (void)oto_field_format(&type->fields[i], payload, element, text, sizeof text);
            (void)fputc(',', to);
            csv_cell(to, text);
        }
    }
    (void)fprintf(to, ",%" PRId64 ",%" PRIu32 "\n", head->sensor_time_ns, head->flags);
}

void csv_empty(FILE *to, const struct oto_record_type *type, int64_t t_ns)
{
    (void)fprintf(to, "%" PRId64 ",", t_ns);
    for (uint32_t i = 0; i < type->field_count; i++) {
        for (uint32_t element = 0; element < columns_of(&type->fields[i]); element++) {
            (void)fputc(',', to);
        }
    }
    (void)fputs(",,\n", to);
}
