/* Checks the tables of a plugin's motion model. */
#include <stdbool.h>

#include "descriptor_check.h"

/* True for a name that can be a CSV column: 1 to 31 of [A-Za-z0-9_], no digit first. */
static bool is_column(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    const size_t length = name != NULL ? strnlen(name, PLUGIN_ID_BYTES) : 0;
    return length > 0 && length < PLUGIN_ID_BYTES && strspn(name, letters) == length &&
           (name[0] < '0' || name[0] > '9');
}

static enum oto_status check_quantities(const struct oto_model_quantity *quantities, uint32_t count, const char *what,
                                        struct oto_error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!is_column(quantities[i].name) || quantities[i].unit == NULL || quantities[i].frame == NULL ||
            quantities[i].text == NULL) {
            return oto_fail(error, OTO_PLUGIN, "%s %u of its motion model is called '%.40s': it needs 1 to 31 characters of "
                            "[A-Za-z0-9_], and a unit, frame and text", what, i,
                            quantities[i].name != NULL ? quantities[i].name : "(NULL)");
        }
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(quantities[i].name, quantities[k].name) == 0) {
                return oto_fail(error, OTO_PLUGIN, "%ss %u and %u of its motion model are both called '%s'", what, k, i,
                                quantities[i].name);
            }
        }
    }
    return OTO_OK;
}

enum oto_status oto_model_check(const struct oto_model_extension *model, struct oto_error *error)
{
    if (model == NULL) {
        return OTO_OK;
    }
    if (model->size != sizeof *model || model->reset == NULL || model->predict == NULL || model->jacobian == NULL ||
        model->jacobian_and_predict == NULL || model->to_truth == NULL || model->from_truth == NULL) {
        return oto_fail(error, OTO_PLUGIN, "its extension '" OTO_EXTENSION_MOTION_MODEL "' is of another size or lacks an "
                        "operation");
    }
    if (model->state_count == 0 || model->state_count > OTO_MODEL_MAX_STATES || model->states == NULL ||
        model->derived_count > OTO_MODEL_MAX_DERIVED ||
        (model->derived_count > 0 && (model->derived == NULL || model->derive == NULL))) {
        return oto_fail(error, OTO_PLUGIN, "its motion model has %u states and %u derived quantities: 1 to %d and at most "
                        "%d, with their tables, are accepted", model->state_count, model->derived_count,
                        OTO_MODEL_MAX_STATES, OTO_MODEL_MAX_DERIVED);
    }
    const enum oto_status status = check_quantities(model->states, model->state_count, "state", error);
    return status == OTO_OK ? check_quantities(model->derived, model->derived_count, "derived quantity", error) : status;
}
