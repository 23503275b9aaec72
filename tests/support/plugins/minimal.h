/* The least that a plugin is, for files that are wrong in one way each. */
#ifndef TEST_MINIMAL_H
#define TEST_MINIMAL_H

#include "otolith/plugin.h"

static const struct oto_field minimal_fields[] = {{"value", OTO_FIELD_F64, 1, 0, "1", "", "zero"}};
static const struct oto_record_type minimal_type = {"minimal", 8, 1, minimal_fields};
static const struct oto_port minimal_outputs[] = {{"", &minimal_type, OTO_PORT_ALWAYS, 0}};

static enum oto_step_status minimal_step(const struct oto_instance *instance, const struct oto_step *step)
{
    (void)instance;
    (void)step;
    return OTO_STEP_OK;
}

static const struct oto_plugin_descriptor minimal_descriptor = {
    .size = sizeof minimal_descriptor, .id = "minimal", .kind = OTO_KIND_SENSOR, .version = "1", .text = "says zero",
    .outputs = minimal_outputs, .output_count = 1};
__attribute__((unused)) static const struct oto_plugin_ops minimal_ops = {.size = sizeof minimal_ops, .step = minimal_step};

#endif
