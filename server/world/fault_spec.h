/*
 * A fault as it is asked for, in a world's timeline (`faults:` of a node) or by the control verb: read by one table, so
 * that both say the same and err the same. [loop]; field matching is pure.
 */
#ifndef SRV_CONFIG_FAULT_SPEC_H
#define SRV_CONFIG_FAULT_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "document/document.h"
#include "otolith/plugin.h"

#define SRV_FAULT_FIELDS_BYTES 256
#define SRV_FAULT_MAX_DELAY_S 10.0
#define SRV_FAULTS_PER_NODE OTO_FAULT_LABELS
#define SRV_FAULT_FOR_EVER INT64_MAX

struct srv_fault_spec {
    uint64_t id;   /* given by the engine, from 1 */
    uint32_t kind; /* enum oto_fault_kind */
    uint32_t port; /* of the plugin's outputs */
    char fields[SRV_FAULT_FIELDS_BYTES]; /* names, or their beginnings before a dot, with commas between; "": measured ones */
    int64_t at_ns, for_ns; /* simulated time of its beginning, and how long; a beginning in the past is now */
    double value, rate_hz, probability;
    int64_t period_ns;
    uint32_t count;
    uint32_t axis[3]; /* AXES: output axis i shows input axis axis[i] times sign */
    double axis_sign[3];
};

/*
 * Reads one map: {kind: bias, value: 0.1, fields: angular_velocity.x, at_s: 10, for_s: 5}. The channel and the fields
 * are looked up in the plugin's outputs. Times not given: from now on, for ever.
 */
enum oto_status srv_fault_spec_read(const struct oto_value *map, const struct oto_plugin_descriptor *descriptor,
                                    double rate_hz, struct srv_fault_spec *spec, struct oto_error *error);

/* The same from the text of one map, for a node as the world's file has it. */
struct srv_node_config;
enum oto_status srv_fault_spec_parse(const struct srv_node_config *node, const char *yaml, struct srv_fault_spec *spec,
                                     struct oto_error *error);

/* Whether `name` is `wanted`, or goes on from it after a dot: "linear_acceleration" reaches its .x, .y and .z. */
static inline bool srv_fault_name_matches(const char *wanted, size_t bytes, const char *name)
{
    return strncmp(wanted, name, bytes) == 0 && (name[bytes] == '\0' || name[bytes] == '.');
}

/* With no list, what carries a unit and is no covariance: an orientation's numbers do not. */
static inline bool srv_fault_field_matches(const char *fields, const struct oto_field *field)
{
    if (fields[0] == '\0') {
        return field->unit[0] != '\0' && strcmp(field->unit, "1") != 0 && strstr(field->name, "covariance") == NULL;
    }
    for (const char *at = fields; *at != '\0';) {
        const size_t bytes = strcspn(at, ", ");
        if (bytes > 0 && srv_fault_name_matches(at, bytes, field->name)) {
            return true;
        }
        at += bytes + strspn(at + bytes, ", ");
    }
    return false;
}

#endif
