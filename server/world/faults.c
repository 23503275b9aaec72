#include "world/fault_spec.h"

#include <stdlib.h>

#include "world/binder.h"
#include "world/section.h"
#include "otolith/records.h"

/* clang-format off */
#define AT(member) .offset = (uint32_t)offsetof(struct srv_raw_fault, member), \
                   .bytes = (uint32_t)sizeof(((struct srv_raw_fault *)0)->member)
#define RANGE(low, high) .minimum = (low), .maximum = (high)

struct srv_raw_fault {
    int32_t kind;
    const struct oto_value *fields, *channel, *axes;
    double value, rate_hz, probability;
    int64_t at_ns, for_ns, period_ns, decay_ns;
    uint32_t count;
};

#define WORD(name, number, text, amount) {text, number, NULL},
static const struct srv_word kinds[] = {OTO_FAULT_TABLE(WORD)
    {"bias_step", OTO_FAULT_BIAS, NULL}, {"bias_ramp", OTO_FAULT_RAMP, NULL}, {"spike", OTO_FAULT_SPIKES, NULL},
    {"saturate", OTO_FAULT_SATURATION, NULL}, {"sign_flip", OTO_FAULT_SIGN, NULL}, {"axis_swap", OTO_FAULT_AXES, NULL},
    {"stamp_jump", OTO_FAULT_TIME_JUMP, NULL}, {"stamp_jitter", OTO_FAULT_TIME_JITTER, NULL},
};

static const struct srv_key fault_keys[] = {
    {"kind", SRV_FORM_WORD, AT(kind), .flags = SRV_KEY_REQUIRED, .words = kinds,
     .word_count = sizeof kinds / sizeof *kinds, .text = "what goes wrong"},
    {"value", SRV_FORM_F64, AT(value), .minimum = -1e300, .maximum = 1e300,
     .text = "bias, spikes, noise (1 sigma), saturation: in the field's unit; ramp: per second; scale: the factor; delay, "
             "time_jump, time_jitter (1 sigma): seconds; multipath: metres at the start; spoof: m/s; jam: dB; draught: Pa at the start"},
    {"fields", SRV_FORM_VALUE, AT(fields),
     .text = "names of fields, or their beginnings before a dot, separated by commas; default: all measured quantities"},
    {"channel", SRV_FORM_VALUE, AT(channel), .text = "the node's channel; default: the first"},
    {"at_s", SRV_FORM_NS, AT(at_ns), RANGE(0, 9e9), .scale = 1e9, .unit = "s", .text = "simulated time of the start"},
    {"for_s", SRV_FORM_NS, AT(for_ns), RANGE(0, 9e9), .scale = 1e9, .unit = "s", .flags = SRV_KEY_OPEN_MIN,
     .text = "duration; default: until it is cleared"},
    {"rate_hz", SRV_FORM_F64, AT(rate_hz), RANGE(0, 1e6), .flags = SRV_KEY_OPEN_MIN, .unit = "Hz", .default_text = "1",
     .text = "spikes: mean number per second"},
    {"period_s", SRV_FORM_NS, AT(period_ns), RANGE(1e-6, 1e6), .scale = 1e9, .unit = "s", .default_text = "0.1",
     .text = "intermittent: period that is lost or kept as a whole"},
    {"decay_s", SRV_FORM_NS, AT(decay_ns), RANGE(1e-3, 1e6), .scale = 1e9, .unit = "s", .default_text = "10",
     .text = "multipath, draught: time constant with which the value decays"},
    {"probability", SRV_FORM_F64, AT(probability), RANGE(0, 1), .default_text = "0.5",
     .text = "intermittent: probability that a period is lost"},
    {"count", SRV_FORM_U32, AT(count), RANGE(2, 1000000), .unit = "samples", .default_text = "2",
     .text = "repeat: how often each sample is published"},
    {"axes", SRV_FORM_VALUE, AT(axes), .text = "axes: the axes that x, y and z show, as yxz or -xzy; default: yxz"},
};
const struct srv_section srv_section_fault = {"a fault", "a fault of the node's samples", fault_keys,
                                              sizeof fault_keys / sizeof *fault_keys};

/* The kinds that need `value`, and the minimum of the value. */
static const struct {
    bool needed;
    double minimum, maximum;
} values[OTO_FAULT_MAX_] = {
    [OTO_FAULT_BIAS] = {true, -1e300, 1e300},  [OTO_FAULT_RAMP] = {true, -1e300, 1e300},
    [OTO_FAULT_SCALE] = {true, -1e300, 1e300}, [OTO_FAULT_SPIKES] = {true, 0, 1e300},
    [OTO_FAULT_NOISE] = {true, 0, 1e300},      [OTO_FAULT_SATURATION] = {true, 0, 1e300},
    [OTO_FAULT_DELAY] = {true, 0, SRV_FAULT_MAX_DELAY_S}, [OTO_FAULT_TIME_JUMP] = {true, -1e6, 1e6},
    [OTO_FAULT_TIME_JITTER] = {true, 0, 1e3},
    [OTO_FAULT_MULTIPATH] = {true, 0, 1e4},    [OTO_FAULT_SPOOF] = {true, 0, 1e4},
    [OTO_FAULT_JAM] = {true, 0, 200},          [OTO_FAULT_DRAUGHT] = {true, -1e5, 1e5},
};
/* clang-format on */

static enum oto_status check_value(const struct oto_value *map, const struct srv_raw_fault *raw,
                                   struct oto_error *error)
{
    const struct oto_value *given = oto_value_get(map, "value");
    const char *kind = oto_fault_kind_text((uint32_t)raw->kind);
    if (!values[raw->kind].needed) {
        return given == NULL ? OTO_OK
                             : oto_value_fail_key(given, error, OTO_INVALID, "a fault of kind %s takes no value", kind);
    }
    if (given == NULL) {
        return oto_value_fail(map, error, OTO_INVALID, "a fault of kind %s needs a value", kind);
    }
    if (!(raw->value >= values[raw->kind].minimum && raw->value <= values[raw->kind].maximum)) {
        return oto_value_fail(given, error, OTO_RANGE, "the value of a fault of kind %s is %g, expected %g to %g", kind,
                              raw->value, values[raw->kind].minimum, values[raw->kind].maximum);
    }
    return OTO_OK;
}

static enum oto_status find_port(const struct oto_value *channel, const struct oto_plugin_descriptor *descriptor,
                                 uint32_t *port, struct oto_error *error)
{
    const char *names[OTO_PLUGIN_MAX_PORTS];
    *port = 0;
    if (channel == NULL) {
        return OTO_OK;
    }
    for (uint32_t i = 0; i < descriptor->output_count; i++) {
        names[i] = descriptor->outputs[i].name;
        if (strcmp(names[i], channel->text) == 0) {
            *port = i;
            return OTO_OK;
        }
    }
    const char *near = oto_nearest_word(channel->text, names, descriptor->output_count);
    return oto_value_fail(channel, error, OTO_NOT_FOUND, "plugin '%s' has no channel '%s'%s%s%s", descriptor->id,
                          channel->text, near != NULL && *near != '\0' ? "; did you mean '" : "",
                          near != NULL ? near : "", near != NULL && *near != '\0' ? "'?" : "");
}

static bool is_number(const struct oto_field *field)
{
    return field->type == OTO_FIELD_F64 || field->type == OTO_FIELD_F32;
}

/* Each name of the list must match a field. */
static enum oto_status check_name(const struct oto_value *fields, const char *name, size_t bytes,
                                  const struct oto_record_type *type, struct oto_error *error)
{
    const char *candidates[OTO_RECORD_MAX_FIELDS];
    char word[OTO_FIELD_NAME_BYTES];
    size_t count = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (is_number(&type->fields[i])) {
            if (srv_fault_name_matches(name, bytes, type->fields[i].name)) {
                return OTO_OK;
            }
            candidates[count++] = type->fields[i].name;
        }
    }
    (void)snprintf(word, sizeof word, "%.*s", (int)(bytes < sizeof word ? bytes : sizeof word - 1), name);
    const char *near = oto_nearest_word(word, candidates, count);
    return oto_value_fail(fields, error, OTO_NOT_FOUND, "the record '%s' has no field '%s' of floating-point numbers%s%s%s",
                          type->name, word, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                          near != NULL ? "'?" : "");
}

static enum oto_status take_fields(const struct oto_value *fields, const struct oto_record_type *type,
                                   struct srv_fault_spec *spec, struct oto_error *error)
{
    if (fields == NULL) {
        return OTO_OK;
    }
    if (strlen(fields->text) >= sizeof spec->fields) {
        return oto_value_fail(fields, error, OTO_LIMIT, "the list of fields is longer than %zu bytes",
                              sizeof spec->fields - 1);
    }
    memcpy(spec->fields, fields->text, strlen(fields->text) + 1);
    enum oto_status status = OTO_OK;
    for (const char *at = spec->fields; *at != '\0' && status == OTO_OK;) {
        const size_t bytes = strcspn(at, ", ");
        status = bytes > 0 ? check_name(fields, at, bytes, type, error) : OTO_OK;
        at += bytes + strspn(at + bytes, ", ");
    }
    return status;
}

/* True if the matched fields are x, y, z of vectors. */
static bool comes_in_triads(const struct srv_fault_spec *spec, const struct oto_record_type *type)
{
    static const char *const ends[] = {".x", ".y", ".z"};
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        if (!is_number(field) || !srv_fault_field_matches(spec->fields, field)) {
            continue;
        }
        if (field->count == 3 && count % 3 == 0) {
            count += 3;
            continue;
        }
        const size_t bytes = strlen(field->name);
        if (field->count != 1 || bytes < 2 || strcmp(field->name + bytes - 2, ends[count % 3]) != 0) {
            return false;
        }
        count++;
    }
    return count > 0 && count % 3 == 0;
}

static enum oto_status take_axes(const struct oto_value *map, const struct oto_value *axes,
                                 const struct oto_record_type *type, struct srv_fault_spec *spec,
                                 struct oto_error *error)
{
    const char *at = axes != NULL ? axes->text : "yxz";
    uint32_t seen = 0, count = 0;
    for (; *at != '\0' && count < 3; count++) {
        spec->axis_sign[count] = *at == '-' ? -1.0 : 1.0;
        at += *at == '-' || *at == '+';
        const char *axis = *at != '\0' ? strchr("xyz", *at) : NULL;
        if (axis == NULL) {
            break;
        }
        spec->axis[count] = (uint32_t)(*axis - 'x');
        seen |= 1u << spec->axis[count];
        at++;
    }
    if (*at != '\0' || count != 3 || seen != 7u) {
        return oto_value_fail(axes != NULL ? axes : map, error, OTO_INVALID,
                              "axes: '%.20s' is not each of x, y and z once, as in yxz or -xzy",
                              axes != NULL ? axes->text : "");
    }
    if (!comes_in_triads(spec, type)) {
        return oto_value_fail(map, error, OTO_INVALID, "a fault of kind axes needs fields that come as .x, .y and .z, or in threes");
    }
    return OTO_OK;
}

static bool reaches_something(const struct srv_fault_spec *spec, const struct oto_record_type *type)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        if (is_number(&type->fields[i]) && srv_fault_field_matches(spec->fields, &type->fields[i])) {
            return true;
        }
    }
    return false;
}

static void take_numbers(const struct oto_value *map, const struct srv_raw_fault *raw, struct srv_fault_spec *spec)
{
    spec->kind = (uint32_t)raw->kind;
    spec->value = raw->value;
    spec->rate_hz = raw->rate_hz;
    spec->probability = raw->probability;
    spec->period_ns = raw->kind == OTO_FAULT_MULTIPATH || raw->kind == OTO_FAULT_DRAUGHT ? raw->decay_ns : raw->period_ns;
    spec->count = raw->count;
    spec->at_ns = raw->at_ns;
    spec->for_ns = oto_value_get(map, "for_s") != NULL ? raw->for_ns : SRV_FAULT_FOR_EVER;
}

enum oto_status srv_fault_spec_read(const struct oto_value *map, const struct oto_plugin_descriptor *descriptor,
                                    double rate_hz, struct srv_fault_spec *spec, struct oto_error *error)
{
    struct srv_raw_fault raw = {0};
    memset(spec, 0, sizeof *spec);
    if (descriptor->output_count == 0) {
        return oto_value_fail(map, error, OTO_UNSUPPORTED,
                              "plugin '%s' is a motion: truth has no faults, its sensors have", descriptor->id);
    }
    srv_section_defaults(&srv_section_fault, &raw);
    enum oto_status status = srv_section_read(&srv_section_fault, map, &raw, error);
    if (status == OTO_OK) {
        status = check_value(map, &raw, error);
    }
    if (status == OTO_OK && oto_fault_is_disturbance((uint32_t)raw.kind) &&
        (descriptor->flags & OTO_PLUGIN_FEELS((uint32_t)raw.kind)) == 0) {
        status = oto_value_fail(map, error, OTO_UNSUPPORTED, "plugin '%s' does not simulate faults of kind %s", descriptor->id,
                                oto_fault_kind_text((uint32_t)raw.kind));
    }
    if (status == OTO_OK) {
        status = find_port(raw.channel, descriptor, &spec->port, error);
    }
    if (status != OTO_OK) {
        return status;
    }
    const struct oto_record_type *type = descriptor->outputs[spec->port].type;
    take_numbers(map, &raw, spec);
    status = take_fields(raw.fields, type, spec, error);
    if (status == OTO_OK && !reaches_something(spec, type)) {
        status = oto_value_fail(map, error, OTO_INVALID, "the record '%s' has no number with a unit: name its fields",
                                type->name);
    }
    if (status == OTO_OK && spec->kind == OTO_FAULT_AXES) {
        status = take_axes(map, raw.axes, type, spec, error);
    }
    if (status == OTO_OK && spec->kind == OTO_FAULT_DELAY && spec->value * rate_hz < 0.5) {
        status = oto_value_fail(map, error, OTO_RANGE, "a delay of %g s is less than half a sample at %g Hz", spec->value,
                                rate_hz);
    }
    return status;
}

enum oto_status srv_fault_spec_parse(const struct srv_node_config *node, const char *yaml, struct srv_fault_spec *spec,
                                     struct oto_error *error)
{
    struct oto_document *document = NULL;
    enum oto_status status = oto_document_parse("fault", yaml, strlen(yaml), NULL, &document, error);
    if (status == OTO_OK) {
        status = srv_fault_spec_read(oto_document_root(document), oto_plugin_descriptor(node->plugin),
                                     (double)node->rate_num / (double)node->rate_den, spec, error);
    }
    oto_document_close(document);
    return status;
}

static bool is_disturbed_at(const struct srv_fault_spec *spec, int64_t t_ns)
{
    return oto_fault_is_disturbance(spec->kind) && t_ns >= spec->at_ns && t_ns - spec->at_ns < spec->for_ns;
}

/* A plugin gets at most OTO_DISTURBANCES at an instant; the most are active when one of them begins. */
static enum oto_status check_disturbances(struct srv_binder *binder, const struct oto_value *list,
                                          const struct srv_node_config *node)
{
    for (uint32_t i = 0; i < node->fault_count; i++) {
        uint32_t active = 0;
        for (uint32_t k = 0; k < node->fault_count; k++) {
            active += is_disturbed_at(&node->faults[k], node->faults[i].at_ns);
        }
        if (active > OTO_DISTURBANCES && oto_fault_is_disturbance(node->faults[i].kind)) {
            return oto_value_fail(list->items[i], binder->error, OTO_LIMIT, "%u disturbances (outage, multipath, spoof, jam, draught) "
                                  "are active when this one begins; at most %d at once are accepted", active, OTO_DISTURBANCES);
        }
    }
    return OTO_OK;
}

enum oto_status srv_bind_faults(struct srv_binder *binder, const struct oto_value *list, struct srv_node_config *node)
{
    const double rate_hz = (double)node->rate_num / (double)node->rate_den;
    if (list == NULL || list->count == 0) {
        return OTO_OK;
    }
    if (list->count > SRV_FAULTS_PER_NODE * 128) {
        return oto_value_fail(list, binder->error, OTO_LIMIT, "%u faults, at most %d of a node are accepted", list->count,
                              SRV_FAULTS_PER_NODE * 128);
    }
    node->faults = calloc(list->count, sizeof *node->faults);
    if (node->faults == NULL) {
        return oto_value_fail(list, binder->error, OTO_NO_MEMORY, "out of memory");
    }
    const uint32_t problems = binder->problems.count;
    enum oto_status status = OTO_OK;
    for (; node->fault_count < list->count && srv_binder_goes_on(binder, status); node->fault_count++) {
        status = srv_fault_spec_read(list->items[node->fault_count], oto_plugin_descriptor(node->plugin), rate_hz,
                                     &node->faults[node->fault_count], binder->error);
    }
    if (status == OTO_OK)
        status = check_disturbances(binder, list, node);
    return srv_binder_result(binder, problems, status);
}
