/* Checks that the record of a channel fits an input. Pure. */
#include <string.h>

#include "plugin/host.h"

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

/* The index of a name in the plugin's table of inputs; for an open input the length of the table. */
static uint32_t rank_of(const struct oto_estimator_extension *estimator, const char *name)
{
    uint32_t i = 0;
    while (i < estimator->input_count && strcmp(estimator->inputs[i].name, name) != 0) {
        i++;
    }
    return i;
}

static bool is_bound(const struct oto_input_binding *bindings, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(bindings[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

enum oto_status oto_inputs_check(const struct oto_estimator_extension *estimator,
                                 const struct oto_input_binding *bindings, uint32_t count, struct oto_error *error)
{
    uint32_t last = 0;
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < count; i++) {
        const uint32_t rank = rank_of(estimator, bindings[i].name);
        if (rank == estimator->input_count && (estimator->flags & OTO_ESTIMATOR_OPEN_INPUTS) == 0) {
            return oto_fail(error, OTO_INVALID, "it has no input '%s'", bindings[i].name);
        }
        if (rank < last) {
            return oto_fail(error, OTO_INVALID, "its input '%s' has another position in its table", bindings[i].name);
        }
        last = rank;
        if (rank < estimator->input_count) {
            status = oto_input_check_fields(&estimator->inputs[rank], bindings[i].type, error);
        }
    }
    for (uint32_t i = 0; status == OTO_OK && i < estimator->input_count; i++) {
        const struct oto_input_port *port = &estimator->inputs[i];
        if ((port->flags & OTO_INPUT_OPTIONAL) == 0 && !is_bound(bindings, count, port->name)) {
            status = oto_fail(error, OTO_INVALID, "its input '%s' (%s) is not bound", port->name, port->text);
        }
    }
    return status;
}
