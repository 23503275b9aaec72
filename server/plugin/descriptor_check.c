#include "descriptor_check.h"

#include <stdbool.h>

static const char *const kinds[] = {OTO_KIND_SENSOR, OTO_KIND_MOTION, OTO_KIND_ESTIMATOR};

enum oto_status oto_abi_check(const struct oto_abi_block *abi, struct oto_error *error)
{
    const struct oto_abi_block own = OTO_ABI_BLOCK_INITIALIZER;
    if (abi->magic != OTO_PLUGIN_MAGIC) {
        return oto_fail(error, OTO_VERSION, "its ABI block begins with 0x%08x instead of 0x%08x: it is no otolith plugin",
                        abi->magic, OTO_PLUGIN_MAGIC);
    }
    if (abi->major != OTO_PLUGIN_ABI_MAJOR || abi->minor != OTO_PLUGIN_ABI_MINOR) {
        return oto_fail(error, OTO_VERSION, "it has plugin ABI %u.%u, and this host accepts %u.%u: rebuild it against "
                        "this version's headers", abi->major, abi->minor, OTO_PLUGIN_ABI_MAJOR, OTO_PLUGIN_ABI_MINOR);
    }
    if (memcmp(abi, &own, sizeof own) != 0) {
        return oto_fail(error, OTO_VERSION, "it says ABI %u.%u, but its structures have other sizes: rebuild it against "
                        "unchanged headers", abi->major, abi->minor);
    }
    return OTO_OK;
}

/* True for printable ASCII without spaces, 1 to bytes - 1 long. */
static bool is_word(const char *text, size_t bytes)
{
    size_t length = 0;
    while (text != NULL && length < bytes && text[length] > ' ' && text[length] <= '~') {
        length++;
    }
    return length > 0 && length < bytes && text[length] == '\0';
}

static bool is_name(const char *text, size_t bytes)
{
    return is_word(text, bytes) &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == strlen(text);
}

static enum oto_status check_identity(const struct oto_plugin_descriptor *descriptor, struct oto_error *error)
{
    if (!is_name(descriptor->id, PLUGIN_ID_BYTES)) {
        return oto_fail(error, OTO_PLUGIN, "its id '%.40s' is not 1 to 31 characters of [A-Za-z0-9_-]",
                        descriptor->id != NULL ? descriptor->id : "(NULL)");
    }
    if (!is_word(descriptor->version, PLUGIN_VERSION_BYTES)) {
        return oto_fail(error, OTO_PLUGIN, "its version '%.40s' is not 1 to 15 printable characters",
                        descriptor->version != NULL ? descriptor->version : "(NULL)");
    }
    if (descriptor->text == NULL || (descriptor->flags & ~(OTO_PLUGIN_ANY_RATE | OTO_PLUGIN_HOST_ONLY | OTO_PLUGIN_FEELS_ALL)) != 0) {
        return oto_fail(error, OTO_PLUGIN, "its descriptor has no text, or flags 0x%x; OTO_PLUGIN_ANY_RATE, OTO_PLUGIN_HOST_ONLY and OTO_PLUGIN_FEELS of disturbances are accepted",
                        descriptor->flags);
    }
    for (size_t i = 0; descriptor->kind != NULL && i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(descriptor->kind, kinds[i]) == 0) {
            return OTO_OK;
        }
    }
    return oto_fail(error, OTO_PLUGIN, "its kind '%.40s' is unknown; kinds are sensor, motion and estimator",
                    descriptor->kind != NULL ? descriptor->kind : "(NULL)");
}

static bool is_switch(const struct oto_plugin_descriptor *descriptor, uint32_t offset)
{
    for (uint32_t i = 0; i < descriptor->param_count; i++) {
        const struct oto_param *param = &descriptor->params[i];
        if (param->offset == offset && param->count == 1 &&
            (param->type == OTO_PARAM_BOOL || param->type == OTO_PARAM_I64)) {
            return true;
        }
    }
    return false;
}

static enum oto_status check_port(const struct oto_plugin_descriptor *descriptor, uint32_t index,
                                  struct oto_error *error)
{
    const struct oto_port *port = &descriptor->outputs[index];
    if (port->name == NULL || (index == 0 ? port->name[0] != '\0' : !is_name(port->name, PLUGIN_ID_BYTES))) {
        return oto_fail(error, OTO_PLUGIN, "output %u is called '%.40s': the first has the empty name, the others 1 to 31 "
                        "characters of [A-Za-z0-9_-]", index, port->name != NULL ? port->name : "(NULL)");
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(descriptor->outputs[i].name, port->name) == 0) {
            return oto_fail(error, OTO_PLUGIN, "outputs %u and %u are both called '%s'", i, index, port->name);
        }
    }
    if (port->enable_offset != OTO_PORT_ALWAYS && !is_switch(descriptor, port->enable_offset)) {
        return oto_fail(error, OTO_PLUGIN, "output '%s' is enabled by offset %u, where there is no BOOL or I64 parameter",
                        port->name, port->enable_offset);
    }
    char where[64];
    (void)snprintf(where, sizeof where, "output '%s'", port->name);
    return oto_record_type_check(port->type, where, error);
}

static enum oto_status check_ports(const struct oto_plugin_descriptor *descriptor, struct oto_error *error)
{
    const bool motion = strcmp(descriptor->kind, OTO_KIND_MOTION) == 0;
    const uint32_t count = descriptor->output_count;
    if (motion ? count != 0 : count == 0 || count > OTO_PLUGIN_MAX_PORTS) {
        return oto_fail(error, OTO_PLUGIN, "it has %u outputs; a motion node has none, others 1 to %d", count,
                        OTO_PLUGIN_MAX_PORTS);
    }
    if (count > 0 && descriptor->outputs == NULL) {
        return oto_fail(error, OTO_PLUGIN, "it has %u outputs and no table of them", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        const enum oto_status status = check_port(descriptor, i, error);
        if (status != OTO_OK) {
            return status;
        }
    }
    return OTO_OK;
}

static enum oto_status check_state(const struct oto_plugin_descriptor *descriptor, const struct oto_plugin_ops *ops,
                                   struct oto_error *error)
{
    if (descriptor->state_bytes > PLUGIN_MAX_STATE_BYTES) {
        return oto_fail(error, OTO_LIMIT, "its state has %llu bytes; at most %d (16 MiB) are allowed",
                        (unsigned long long)descriptor->state_bytes, PLUGIN_MAX_STATE_BYTES);
    }
    if (descriptor->migrates_from > descriptor->state_version ||
        (descriptor->migrates_from < descriptor->state_version && ops->migrate == NULL)) {
        return oto_fail(error, OTO_PLUGIN, "it migrates states from version %u to %u %s", descriptor->migrates_from,
                        descriptor->state_version,
                        ops->migrate == NULL ? "without a `migrate`" : "which is no range");
    }
    return OTO_OK;
}

enum oto_status oto_descriptor_check(const struct oto_plugin_descriptor *descriptor, const struct oto_plugin_ops *ops,
                                     struct oto_error *error)
{
    if (descriptor->size != sizeof *descriptor || ops->size != sizeof *ops) {
        return oto_fail(error, OTO_PLUGIN, "its descriptor has size %u and its operations %u, its ABI has %zu and %zu",
                        descriptor->size, ops->size, sizeof *descriptor, sizeof *ops);
    }
    if (ops->step == NULL) {
        return oto_fail(error, OTO_PLUGIN, "it has no `step`");
    }
    if (descriptor->param_count > PLUGIN_MAX_PARAMS || (descriptor->param_count > 0 && descriptor->params == NULL) ||
        descriptor->params_bytes > PLUGIN_MAX_PARAMS_BYTES || descriptor->params_bytes % 8 != 0) {
        return oto_fail(error, OTO_PLUGIN, "it has %u parameters in a block of %llu bytes: at most %d in a multiple of 8 up "
                        "to 16 MiB, and a table of them", descriptor->param_count,
                        (unsigned long long)descriptor->params_bytes, PLUGIN_MAX_PARAMS);
    }
    enum oto_status status = check_identity(descriptor, error);
    if (status == OTO_OK) {
        status = oto_param_table_check(descriptor->params, descriptor->param_count, descriptor->params_bytes, error);
    }
    if (status == OTO_OK) {
        status = check_ports(descriptor, error);
    }
    return status == OTO_OK ? check_state(descriptor, ops, error) : status;
}

enum oto_status oto_motion_check(const struct oto_plugin_descriptor *descriptor,
                                 const struct oto_motion_extension *motion, struct oto_error *error)
{
    if (strcmp(descriptor->kind, OTO_KIND_MOTION) != 0 && motion == NULL) {
        return OTO_OK;
    }
    if (motion == NULL || motion->size != sizeof *motion || motion->evaluate == NULL) {
        return oto_fail(error, OTO_PLUGIN, "its extension '" OTO_EXTENSION_MOTION "' is %s, which a motion node needs",
                        motion == NULL ? "absent" : "of another size or without `evaluate`");
    }
    return OTO_OK;
}

enum oto_status oto_control_check(const struct oto_control_extension *control, struct oto_error *error)
{
    return control == NULL || (control->size == sizeof *control && control->control != NULL)
               ? OTO_OK
               : oto_fail(error, OTO_PLUGIN, "its extension '" OTO_EXTENSION_CONTROL "' is of another size or without `control`");
}

static enum oto_status check_input(const struct oto_estimator_extension *estimator, uint32_t index,
                                   struct oto_error *error)
{
    const struct oto_input_port *input = &estimator->inputs[index];
    if (!is_name(input->name, PLUGIN_ID_BYTES) || input->text == NULL || (input->flags & ~OTO_INPUT_OPTIONAL) != 0) {
        return oto_fail(error, OTO_PLUGIN, "input %u ('%.40s') has no name of 1 to 31 characters of [A-Za-z0-9_-], no text, "
                        "or unknown flags", index, input->name != NULL ? input->name : "(NULL)");
    }
    for (uint32_t i = 0; i < index; i++) {
        if (strcmp(estimator->inputs[i].name, input->name) == 0) {
            return oto_fail(error, OTO_PLUGIN, "inputs %u and %u are both called '%s'", i, index, input->name);
        }
    }
    return OTO_OK;
}

enum oto_status oto_estimator_check(const struct oto_plugin_descriptor *descriptor,
                                    const struct oto_estimator_extension *estimator, struct oto_error *error)
{
    if (strcmp(descriptor->kind, OTO_KIND_ESTIMATOR) != 0 && estimator == NULL) {
        return OTO_OK;
    }
    if (estimator == NULL || estimator->size != sizeof *estimator) {
        return oto_fail(error, OTO_PLUGIN, "its extension '" OTO_EXTENSION_ESTIMATOR "' is %s, which an estimator needs",
                        estimator == NULL ? "absent" : "of another size");
    }
    if ((estimator->flags & ~OTO_ESTIMATOR_OPEN_INPUTS) != 0 || estimator->input_count > OTO_ESTIMATOR_MAX_INPUTS ||
        (estimator->input_count > 0 && estimator->inputs == NULL)) {
        return oto_fail(error, OTO_PLUGIN, "its estimator extension has flags 0x%x and %u inputs; 0 or 1, and a table of at "
                        "most %d are accepted", estimator->flags, estimator->input_count, OTO_ESTIMATOR_MAX_INPUTS);
    }
    enum oto_status status = OTO_OK;
    for (uint32_t i = 0; status == OTO_OK && i < estimator->input_count; i++) {
        status = check_input(estimator, i, error);
    }
    return status;
}
