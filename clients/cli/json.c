#include "json.h"

#include <string.h>

static void json_element(struct oto_json *json, const char *key, const struct oto_field *field, const void *payload, uint32_t element)
{
    if (field->type == OTO_FIELD_F64 || field->type == OTO_FIELD_F32) {
        oto_json_number(json, key, oto_field_number(field, payload, element));
        return;
    }
    char text[OTO_RECORD_MAX_BYTES + 1];
    (void)oto_field_format(field, payload, element, text, sizeof text);
    if (field->type == OTO_FIELD_TEXT) {
        oto_json_text(json, key, text);
    } else {
        oto_json_format(json, key, "%s", text);
    }
}

static void json_value(struct oto_json *json, const char *key, const struct oto_field *field, const void *payload)
{
    if (field->count == 1 || field->type == OTO_FIELD_TEXT) {
        json_element(json, key, field, payload, 0);
        return;
    }
    oto_json_open(json, key, '[');
    for (uint32_t i = 0; i < field->count; i++) {
        json_element(json, NULL, field, payload, i);
    }
    oto_json_close(json, ']');
}

/* Fields with the same prefix up to a dot are adjacent in the table and become one object. */
static void json_fields(struct oto_json *json, const struct oto_field *fields, uint32_t count, size_t skip, const void *payload)
{
    for (uint32_t i = 0; i < count;) {
        const char *name = fields[i].name + skip;
        const char *dot = strchr(name, '.');
        if (dot == NULL) {
            json_value(json, name, &fields[i++], payload);
            continue;
        }
        const size_t prefix = (size_t)(dot - name) + 1;
        char key[OTO_FIELD_NAME_BYTES];
        uint32_t end = i + 1;
        while (end < count && strncmp(fields[end].name + skip, name, prefix) == 0) {
            end++;
        }
        (void)snprintf(key, sizeof key, "%.*s", (int)prefix - 1, name);
        oto_json_open(json, key, '{');
        json_fields(json, &fields[i], end - i, skip + prefix, payload);
        oto_json_close(json, '}');
        i = end;
    }
}

void json_sample(FILE *to, const struct oto_record_type *type, const char *frame_id, const struct oto_sample_head *head,
                 const void *payload)
{
    struct oto_json json = {.to = to};
    oto_json_open(&json, NULL, '{');
    oto_json_open(&json, "header", '{');
    oto_json_u64(&json, "seq", head->seq);
    oto_json_open(&json, "stamp", '{');
    oto_json_i64(&json, "sec", head->t_ns / 1000000000);
    oto_json_i64(&json, "nanosec", head->t_ns % 1000000000);
    oto_json_close(&json, '}');
    oto_json_text(&json, "frame_id", frame_id);
    oto_json_close(&json, '}');
    json_fields(&json, type->fields, type->field_count, 0, payload);
    oto_json_open(&json, "otolith", '{');
    oto_json_i64(&json, "sensor_time_ns", head->sensor_time_ns);
    oto_json_u64(&json, "flags", head->flags);
    oto_json_close(&json, '}');
    oto_json_close(&json, '}');
}
