/*
 * The description of a fault, in the `faults:` of a node or in the control verb. One table reads both, so that both
 * accept the same and report the same errors. [loop]; field matching is pure.
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
    uint64_t id;   /* set by the simulator, from 1 */
    uint32_t kind; /* enum oto_fault_kind */
    uint32_t port; /* index of the plugin's output */
    char fields[SRV_FAULT_FIELDS_BYTES]; /* names, or their beginnings up to a dot, separated by commas; "": all
                                          * measured quantities */
    int64_t at_ns, for_ns; /* simulated start and duration; a start in the past means now */
    double value, rate_hz, probability;
    int64_t period_ns; /* INTERMITTENT: the period; MULTIPATH, DRAUGHT: time constant of the decay */
    uint32_t count;
    uint32_t axis[3]; /* AXES: output axis i is input axis axis[i] times sign */
    double axis_sign[3];
};

/*
 * Reads one map: {kind: bias, value: 0.1, fields: angular_velocity.x, at_s: 10, for_s: 5}. Channel and fields are
 * looked up in the plugin's outputs. Default times: from now, without end.
 */
enum oto_status srv_fault_spec_read(const struct oto_value *map, const struct oto_plugin_descriptor *descriptor,
                                    double rate_hz, struct srv_fault_spec *spec, struct oto_error *error);

/* As srv_fault_spec_read, from the text of one map, for a node of the configuration. */
struct srv_node_config;
enum oto_status srv_fault_spec_parse(const struct srv_node_config *node, const char *yaml, struct srv_fault_spec *spec,
                                     struct oto_error *error);

/* True if `name` equals `wanted` or continues it after a dot: "linear_acceleration" matches its .x, .y and .z. */
static inline bool srv_fault_name_matches(const char *wanted, size_t bytes, const char *name)
{
    return strncmp(wanted, name, bytes) == 0 && (name[bytes] == '\0' || name[bytes] == '.');
}

/*
 * Without a list a fault changes all fields that have a unit and are not covariances; so not the numbers of an
 * orientation.
 */
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
