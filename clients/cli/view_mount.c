#include "view_mount.h"

#include <stdio.h>
#include <string.h>

#include "mount_calibration/calibration.h"
#include "document/document.h"

static bool is(const struct oto_value *map, const char *key, const char *text)
{
    const struct oto_value *value = oto_value_get(map, key);
    return value != NULL && value->kind == OTO_VALUE_SCALAR && strcmp(value->text, text) == 0;
}

static bool read_angles(const struct oto_value *list, double rpy_deg[3])
{
    bool good = list != NULL && list->kind == OTO_VALUE_LIST && list->count == 3;
    for (uint32_t i = 0; good && i < 3; i++) {
        good = oto_value_f64(list->items[i], &rpy_deg[i], NULL) == OTO_OK;
    }
    return good;
}

bool view_mount_truth(struct oto_client *client, const char *node, double rpy_deg[3])
{
    struct oto_error error = {0};
    struct oto_reply reply;
    struct oto_document *document = NULL;
    bool found = false;
    if (oto_control_info(client, &reply, &error) != OTO_OK ||
        oto_document_parse("info", reply.text, strlen(reply.text), NULL, &document, &error) != OTO_OK) {
        return false;
    }
    const struct oto_value *inputs = oto_value_get(oto_document_root(document), "inputs");
    for (uint32_t i = 0; inputs != NULL && i < inputs->count && !found; i++) {
        const struct oto_value *input = inputs->items[i];
        found = is(input, "node", node) && is(input, "input", "imu") &&
                read_angles(oto_value_get(input, "mount_rpy_deg"), rpy_deg);
    }
    oto_document_close(document);
    return found;
}

static const char *state_text(uint32_t state)
{
    static const char *const texts[] = {
#define STATE(name, number, text) [number] = text,
        OTO_CALIBRATION_STATE_TABLE(STATE)
#undef STATE
    };
    return state < sizeof texts / sizeof *texts ? texts[state] : "?";
}

void view_mount_state(const void *record, char *text, size_t bytes)
{
    const struct oto_mount_calibration_record *found = record;
    (void)snprintf(text, bytes, "%s, %.0f %%", state_text(found->state), found->percent);
}

void view_mount_found(const void *record, char *text, size_t bytes)
{
    const struct oto_mount_calibration_record *found = record;
    const double *rpy = found->rpy_deg, *bound = found->bound_3sigma_deg;
    const char *marks[3];
    for (int i = 0; i < 3; i++) {
        static const int axis_of[3] = {OTO_CALIBRATION_ROLL_ABSOLUTE, OTO_CALIBRATION_PITCH, OTO_CALIBRATION_YAW};
        marks[i] = found->axis_accepted[axis_of[i]] != 0 ? "*" : " ";
    }
    (void)snprintf(text, bytes, "    found   roll %6.2f ± %-5.2f%s  pitch %6.2f ± %-5.2f%s  yaw %6.2f ± %-5.2f%s deg, 3 sigma, *: accepted",
                   rpy[0], bound[0], marks[0], rpy[1], bound[1], marks[1], rpy[2], bound[2], marks[2]);
}

void view_mount_given(const double rpy_deg[3], char *text, size_t bytes)
{
    (void)snprintf(text, bytes, "    truth   roll %6.2f %8s  pitch %6.2f %8s  yaw %6.2f", rpy_deg[0], "", rpy_deg[1], "",
                   rpy_deg[2]);
}
