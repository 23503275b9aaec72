/* May a channel's record serve an input? Pure. */
#include <string.h>

#include "otolith/plugin_host.h"

enum oto_status oto_input_check_fields(const struct oto_input_port *port, const struct oto_record_type *type,
                                       struct oto_error *error)
{
    const char *names[OTO_RECORD_MAX_FIELDS];
    for (uint32_t i = 0; i < type->field_count; i++) {
        names[i] = type->fields[i].name;
    }
    for (uint32_t i = 0; port->fields != NULL && port->fields[i] != NULL; i++) {
        const struct oto_field *field = oto_record_field(type, port->fields[i]);
        const char *near = field == NULL ? oto_nearest_word(port->fields[i], names, type->field_count) : NULL;
        if (field == NULL) {
            return oto_fail(error, OTO_INVALID, "input '%s' (%s) needs the field '%s', which the record '%s' has not%s%s%s",
                            port->name, port->text, port->fields[i], type->name, near != NULL ? "; is it its '" : "",
                            near != NULL ? near : "", near != NULL ? "'?" : "");
        }
        if (field->type == OTO_FIELD_TEXT) {
            return oto_fail(error, OTO_INVALID, "input '%s' (%s) needs the field '%s' as a number; in the record '%s' it is a "
                            "text", port->name, port->text, port->fields[i], type->name);
        }
    }
    return OTO_OK;
}
