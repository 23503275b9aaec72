#include "sim/fault.h"

#include <stdlib.h>
#include <string.h>

/* ---- making ---- */

static bool reaches(const struct srv_fault_spec *spec, const struct oto_field *field)
{
    return (field->type == OTO_FIELD_F64 || field->type == OTO_FIELD_F32) &&
           srv_fault_field_matches(spec->fields, field);
}

static uint32_t list_elements(const struct srv_fault_spec *spec, const struct oto_record_type *type,
                              struct srv_fault_element *elements)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct oto_field *field = &type->fields[i];
        const uint32_t bytes = oto_field_type_bytes(field->type);
        for (uint32_t k = 0; reaches(spec, field) && k < field->count; k++, count++) {
            if (elements != NULL) {
                elements[count] = (struct srv_fault_element){field->offset + k * bytes, bytes};
            }
        }
    }
    return count;
}

/* Number of past records that the fault's law needs. */
static uint64_t slots_of(const struct srv_fault_spec *spec, double rate_hz)
{
    if (spec->kind == OTO_FAULT_DELAY) {
        return (uint64_t)(spec->value * rate_hz + 0.5) + 1;
    }
    return spec->kind == OTO_FAULT_STUCK || spec->kind == OTO_FAULT_REPEAT ? 1 : 0;
}

struct srv_fault *srv_fault_make(const struct srv_fault_spec *spec, uint32_t node,
                                 const struct oto_plugin_descriptor *descriptor, double rate_hz)
{
    const struct oto_record_type *type = descriptor->outputs[spec->port].type;
    const uint32_t count = list_elements(spec, type, NULL);
    struct srv_fault *fault = calloc(1, sizeof *fault + count * sizeof *fault->elements);
    if (fault == NULL) {
        return NULL;
    }
    fault->spec = *spec;
    fault->node = node;
    fault->slot_bytes = 2 * sizeof(int64_t) + type->bytes;
    fault->slot_count = slots_of(spec, rate_hz);
    fault->element_count = list_elements(spec, type, fault->elements);
    fault->memory = fault->slot_count > 0 ? calloc(fault->slot_count, fault->slot_bytes) : NULL;
    if (fault->slot_count > 0 && fault->memory == NULL) {
        free(fault);
        return NULL;
    }
    return fault;
}

void srv_fault_free(struct srv_fault *list)
{
    while (list != NULL) {
        struct srv_fault *next = list->next;
        free(list->memory);
        free(list);
        list = next;
    }
}

/* ---- numbers of a record ---- */

static double get(const void *payload, struct srv_fault_element element)
{
    const unsigned char *at = (const unsigned char *)payload + element.offset;
    double number;
    float half;
    if (element.bytes == sizeof number) {
        memcpy(&number, at, sizeof number);
        return number;
    }
    memcpy(&half, at, sizeof half);
    return (double)half;
}

static void put(void *payload, struct srv_fault_element element, double number)
{
    unsigned char *at = (unsigned char *)payload + element.offset;
    const float half = (float)number;
    if (element.bytes == sizeof number) {
        memcpy(at, &number, sizeof number);
    } else {
        memcpy(at, &half, sizeof half);
    }
}

/* ---- records of the past ---- */

static unsigned char *slot(const struct srv_fault *fault, uint64_t sample)
{
    return fault->memory + sample % fault->slot_count * fault->slot_bytes;
}

static void remember(const struct srv_fault *fault, uint64_t sample, const struct oto_output *output)
{
    unsigned char *to = slot(fault, sample);
    memcpy(to, &output->t_ns, sizeof output->t_ns);
    memcpy(to + sizeof(int64_t), &output->sensor_time_ns, sizeof output->sensor_time_ns);
    memcpy(to + 2 * sizeof(int64_t), output->payload, fault->slot_bytes - 2 * sizeof(int64_t));
}

static void recall(const struct srv_fault *fault, uint64_t sample, struct oto_output *output)
{
    const unsigned char *payload = slot(fault, sample) + 2 * sizeof(int64_t);
    for (uint32_t i = 0; i < fault->element_count; i++) {
        put(output->payload, fault->elements[i], get(payload, fault->elements[i]));
    }
}

static void recall_stamps(const struct srv_fault *fault, uint64_t sample, struct oto_output *output)
{
    const unsigned char *from = slot(fault, sample);
    memcpy(&output->t_ns, from, sizeof output->t_ns);
    memcpy(&output->sensor_time_ns, from + sizeof(int64_t), sizeof output->sensor_time_ns);
}

/* ---- the laws ---- */

typedef double law_function(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output);

static double add(const struct srv_fault *fault, struct oto_output *output, double amount)
{
    for (uint32_t i = 0; i < fault->element_count; i++) {
        put(output->payload, fault->elements[i], get(output->payload, fault->elements[i]) + amount);
    }
    return amount;
}

static oto_philox_block numbers(const struct srv_fault *fault, const struct srv_fault_moment *moment, uint64_t n,
                                uint64_t draw)
{
    return oto_rng_block(moment->key, n, draw, fault->spec.id, OTO_RNG_DOMAIN_FAULT);
}

static void shift_stamps(struct oto_output *output, double seconds)
{
    const double ns = seconds * 1e9;
    const int64_t shift = (int64_t)(ns < 0 ? ns - 0.5 : ns + 0.5);
    output->t_ns = output->t_ns + shift > 0 ? output->t_ns + shift : 0;
    output->sensor_time_ns += shift;
}

static double stuck(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    (void)moment;
    if (fault->samples == 0) {
        remember(fault, 0, output);
    }
    recall(fault, 0, output);
    return 0.0;
}

static double dropout(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    (void)fault;
    (void)moment;
    output->emit = 0;
    return 0.0;
}

/* For each period of time, drops all samples or none. */
static double intermittent(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    const uint64_t period = (uint64_t)((moment->t_ns - fault->from_ns) / fault->spec.period_ns);
    const bool lost = oto_u01(numbers(fault, moment, period, 0).v[0]) < fault->spec.probability;
    if (lost) {
        output->emit = 0;
    }
    return lost ? 1.0 : 0.0;
}

static double bias(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    (void)moment;
    return add(fault, output, fault->spec.value);
}

static double ramp(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    return add(fault, output, fault->spec.value * ((double)(moment->t_ns - fault->from_ns) * 1e-9));
}

static double scale(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    (void)moment;
    for (uint32_t i = 0; i < fault->element_count; i++) {
        put(output->payload, fault->elements[i], get(output->payload, fault->elements[i]) * fault->spec.value);
    }
    return fault->spec.value;
}

static double spikes(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    const oto_philox_block block = numbers(fault, moment, moment->n, 0);
    const bool hit = oto_u01(block.v[0]) * moment->rate_hz < fault->spec.rate_hz;
    const double sign = (block.v[1] & 1) != 0 ? 1.0 : -1.0;
    return hit ? add(fault, output, sign * fault->spec.value) : 0.0;
}

static double noise(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    double normals[4];
    for (uint32_t i = 0; i < fault->element_count; i++) {
        if (i % 4 == 0) {
            oto_normal4(numbers(fault, moment, moment->n, i / 4), normals);
        }
        put(output->payload, fault->elements[i],
            get(output->payload, fault->elements[i]) + fault->spec.value * normals[i % 4]);
    }
    return fault->spec.value;
}

static double saturation(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    const double level = fault->spec.value;
    (void)moment;
    for (uint32_t i = 0; i < fault->element_count; i++) {
        const double number = get(output->payload, fault->elements[i]);
        put(output->payload, fault->elements[i], number > level ? level : number < -level ? -level : number);
    }
    return level;
}

static double sign(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    (void)moment;
    for (uint32_t i = 0; i < fault->element_count; i++) {
        put(output->payload, fault->elements[i], -get(output->payload, fault->elements[i]));
    }
    return 0.0;
}

static double axes(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    (void)moment;
    for (uint32_t i = 0; i + 3 <= fault->element_count; i += 3) {
        double old[3];
        for (uint32_t k = 0; k < 3; k++) {
            old[k] = get(output->payload, fault->elements[i + k]);
        }
        for (uint32_t k = 0; k < 3; k++) {
            put(output->payload, fault->elements[i + k], fault->spec.axis_sign[k] * old[fault->spec.axis[k]]);
        }
    }
    return 0.0;
}

/* Publishes the record of `delay` seconds ago; as long as there is none, the oldest record. */
static double delay(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    const uint64_t back = fault->samples < fault->slot_count ? fault->samples : fault->slot_count - 1;
    remember(fault, fault->samples, output);
    recall(fault, fault->samples - back, output);
    return (double)back / moment->rate_hz;
}

static double time_jump(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    (void)moment;
    shift_stamps(output, fault->spec.value);
    return fault->spec.value;
}

static double time_jitter(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    const double shift = fault->spec.value * oto_normal_from_bits(numbers(fault, moment, moment->n, 0).v[0]);
    shift_stamps(output, shift);
    return shift;
}

static double repeat(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    const uint64_t before = fault->samples % fault->spec.count;
    (void)moment;
    if (before == 0) {
        remember(fault, 0, output);
    }
    recall(fault, 0, output);
    recall_stamps(fault, 0, output);
    return (double)before;
}

static double not_a_number(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    (void)moment;
    for (uint32_t i = 0; i < fault->element_count; i++) {
        put(output->payload, fault->elements[i], __builtin_nan(""));
    }
    return 0.0;
}

/* The plugin has already computed the effect; only the label's amount is left. */
static double disturbance(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    (void)output;
    return srv_fault_disturbance(fault, moment->t_ns).value;
}

struct oto_disturbance srv_fault_disturbance(const struct srv_fault *fault, int64_t t_ns)
{
    const double elapsed_s = (double)(t_ns - fault->from_ns) * 1e-9, decay_s = (double)fault->spec.period_ns * 1e-9;
    struct oto_disturbance now = {fault->spec.kind, (uint32_t)fault->spec.id, fault->spec.value, 0.0};
    if (fault->spec.kind == OTO_FAULT_SPOOF) {
        now.rate_s = fault->spec.value;
        now.value = fault->spec.value * elapsed_s;
    } else if (fault->spec.kind == OTO_FAULT_MULTIPATH || fault->spec.kind == OTO_FAULT_DRAUGHT) {
        now.value = fault->spec.value * oto_exp(-elapsed_s / decay_s);
        now.rate_s = -now.value / decay_s;
    }
    return now;
}

static law_function *const laws[OTO_FAULT_MAX_] = {
    [OTO_FAULT_STUCK] = stuck,         [OTO_FAULT_DROPOUT] = dropout,
    [OTO_FAULT_INTERMITTENT] = intermittent, [OTO_FAULT_BIAS] = bias,
    [OTO_FAULT_RAMP] = ramp,           [OTO_FAULT_SCALE] = scale,
    [OTO_FAULT_SPIKES] = spikes,       [OTO_FAULT_NOISE] = noise,
    [OTO_FAULT_SATURATION] = saturation, [OTO_FAULT_SIGN] = sign,
    [OTO_FAULT_AXES] = axes,           [OTO_FAULT_DELAY] = delay,
    [OTO_FAULT_TIME_JUMP] = time_jump, [OTO_FAULT_TIME_JITTER] = time_jitter,
    [OTO_FAULT_REPEAT] = repeat,       [OTO_FAULT_NAN] = not_a_number,
    [OTO_FAULT_OUTAGE] = disturbance,  [OTO_FAULT_MULTIPATH] = disturbance,
    [OTO_FAULT_SPOOF] = disturbance,   [OTO_FAULT_JAM] = disturbance,
    [OTO_FAULT_DRAUGHT] = disturbance,
};

double srv_fault_apply(struct srv_fault *fault, const struct srv_fault_moment *moment, struct oto_output *output)
{
    fault->begun = true;
    const double amount = laws[fault->spec.kind](fault, moment, output);
    fault->samples++;
    return amount;
}
