#include "subject.h"

#include <math.h>

#ifndef OTO_SANITIZED_BUILD
/* glibc's own names, so that the counting ones can call through. */
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void __libc_free(void *memory);
volatile int subject_stepping;
volatile unsigned subject_allocations;

void *malloc(size_t bytes)
{
    subject_allocations += subject_stepping != 0;
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    subject_allocations += subject_stepping != 0;
    return __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes)
{
    subject_allocations += subject_stepping != 0;
    return __libc_realloc(memory, bytes);
}

void free(void *memory)
{
    subject_allocations += subject_stepping != 0 && memory != NULL;
    __libc_free(memory);
}
#else
volatile unsigned subject_allocations; /* the sanitizers own malloc */
#endif

static void fill_setup(struct oto_setup *setup, uint64_t rate)
{
    static const char node[] = "car/node";
    *setup = (struct oto_setup){
        .size = sizeof *setup, .base_rate_num = 1000, .base_rate_den = 1, .rate_num = rate, .rate_den = 1,
        .rate_hz = (double)rate, .noise_key = {7, oto_fnv1a64_text(OTO_FNV1A64_START, node)},
        .unit_key = {0, oto_fnv1a64_text(OTO_FNV1A64_START, "part/unit")}, .mount_position_body_m = {0.2, 0, 0.4},
        .q_body_from_sensor = {1, 0, 0, 0}, .origin_latitude_rad = 0.84, .origin_longitude_rad = 0.2,
        .origin_altitude_m = 520, .gravity_enu_m_s2 = {0, 0, -9.81}, .mag_field_enu_ut = {1.2, 21, -43},
        .temperature_degc = 25, .pressure_pa = 95000, .date_days = 20635};
    (void)snprintf(setup->node, sizeof setup->node, "%s", node);
}

/* Defaults, and over them what the suite gives to plugins that need something. */
static void bind(struct subject *s)
{
    char path[4096];
    struct oto_document *document = NULL;
    struct oto_error error;
    assert_ok(oto_params_default(s->now.descriptor, &s->now.params, &error), error);
    (void)snprintf(path, sizeof path, "%s/params/%s.yaml", OTO_CONFORMANCE_DIR, s->now.descriptor->id);
    if (access(path, R_OK) == 0) {
        assert_ok(oto_document_read(path, NULL, &document, &error), error);
        assert_ok(oto_params_apply(s->now.descriptor, oto_document_root(document), &s->now.params, &error), error);
        oto_document_close(document);
    }
}

/* State and payloads with guards around them, in the place of the instance's own. */
static void guard_memory(struct subject *s)
{
    const uint64_t bytes = s->now.state_bytes;
    s->memory = malloc(bytes + 2 * GUARD_BYTES);
    s->payload = malloc(OTO_PLUGIN_MAX_PORTS * (OTO_RECORD_MAX_BYTES + GUARD_BYTES));
    memset(s->memory, GUARD, bytes + 2 * GUARD_BYTES);
    memset(s->payload, GUARD, OTO_PLUGIN_MAX_PORTS * (OTO_RECORD_MAX_BYTES + GUARD_BYTES));
    memcpy(s->memory + GUARD_BYTES, s->now.abi.state, bytes);
    s->own_state = s->now.abi.state;
    s->now.abi.state = s->memory + GUARD_BYTES;
    for (uint32_t i = 0; i < s->now.port_count; i++) {
        s->now.outputs[i].payload = s->payload + (size_t)i * (OTO_RECORD_MAX_BYTES + GUARD_BYTES);
        s->now.ports[i].enabled = true;
    }
}

void subject_open(struct subject *s, const char *path)
{
    const struct srv_instance_place place = {.setup = &s->setup};
    struct oto_error error;
    struct oto_plugin *plugin;
    memset(s, 0, sizeof *s);
    s->hash = OTO_FNV1A64_START;
    assert_ok(oto_plugin_open(path, NULL, &plugin, &error), error);
    srv_instance_bind(&s->now, plugin);
    bind(s);
    fill_setup(&s->setup, strcmp(s->now.descriptor->kind, OTO_KIND_MOTION) == 0 ? 1000 : 200);
    if (oto_plugin_estimator(plugin) != NULL) {
        estimator_bind(oto_plugin_estimator(plugin), &s->inputs, &s->setup);
    }
    assert_ok(srv_instance_make(&s->now, &place, &error), error);
    guard_memory(s);
}

void subject_close(struct subject *s)
{
    s->now.abi.state = s->own_state;
    assert_true(srv_instance_finish(&s->now));
    free(s->memory);
    free(s->payload);
}

bool subject_guards_hold(const struct subject *s)
{
    const unsigned char *after = s->memory + GUARD_BYTES + s->now.descriptor->state_bytes;
    for (size_t i = 0; i < GUARD_BYTES; i++) {
        if (s->memory[i] != GUARD || after[i] != GUARD) {
            return false;
        }
    }
    return true;
}

/* ---- steps ---- */

/* A smooth drive through every input; arithmetic only. */
static void input_when(double t_s, struct oto_sensor_input *input)
{
    const double phase = t_s - floor(t_s), wave = 4 * phase * (1 - phase);
    *input = (struct oto_sensor_input){
        .specific_force_sensor_m_s2 = {wave, -0.5 * wave, 9.81}, .angular_rate_sensor_rad_s = {0.01, -0.02, 0.3 * wave},
        .mag_field_sensor_ut = {20 + wave, -3, -40}, .temperature_degc = 25 + wave, .pressure_pa = 95000,
        .q_enu_from_sensor = {1, 0, 0, 0}, .position_sensor_enu_m = {5 * t_s, 0, 0.4},
        .velocity_sensor_enu_m_s = {5 + wave, 0, 0}};
    input->truth.position_enu_m = input->position_sensor_enu_m;
    input->truth.velocity_enu_m_s = input->velocity_sensor_enu_m_s;
    input->truth.q_enu_from_body = (oto_quat){1, 0, 0, 0};
    input->truth.longitudinal_speed_m_s = 5 + wave;
}

static enum oto_step_status input_at(void *context, struct oto_instant at, struct oto_sensor_input *input)
{
    (void)context;
    input_when(at.t_ns > 0 ? ((double)at.t_ns + at.sub_ns) * 1e-9 : 0, input);
    return OTO_STEP_OK;
}

static void take_outputs(struct subject *s)
{
    for (uint32_t i = 0; i < s->now.descriptor->output_count; i++) {
        const struct oto_record_type *type = s->now.descriptor->outputs[i].type;
        const unsigned char *payload = s->now.outputs[i].payload;
        if (payload[type->bytes] != GUARD) {
            s->broken = "it writes beyond its record";
        }
        if (s->now.outputs[i].emit == 0) {
            continue;
        }
        s->emitted++;
        s->hash = oto_fnv1a64_more(s->hash, payload, type->bytes);
        s->hash = oto_fnv1a64_more(s->hash, &s->now.outputs[i].flags, sizeof s->now.outputs[i].flags);
        s->hash = oto_fnv1a64_more(s->hash, &s->now.outputs[i].sensor_time_ns, sizeof s->now.outputs[i].sensor_time_ns);
        for (uint32_t f = 0; f < type->field_count; f++) {
            const struct oto_field *field = &type->fields[f];
            for (uint32_t e = 0; e < field->count && field->type == OTO_FIELD_F64; e++) {
                double value;
                memcpy(&value, payload + field->offset + 8 * (size_t)e, sizeof value);
                if (!isfinite(value)) {
                    s->broken = "an output is not finite";
                }
            }
        }
    }
}

static void take_truth(struct subject *s, uint64_t tick)
{
    const struct oto_motion_extension *motion = oto_plugin_motion(s->now.plugin);
    for (int part = 0; motion != NULL && part <= 2; part++) {
        struct oto_truth_record truth;
        memset(&truth, 0, sizeof truth);
        const struct oto_instant at = {(int64_t)(tick * 1000000) + part * 500000, 0.0};
        COUNTED(motion->evaluate(&s->now.abi, at, &truth));
        s->hash = oto_fnv1a64_more(s->hash, &truth, sizeof truth);
        const double *numbers = (const double *)&truth;
        for (size_t i = 0; i < sizeof truth / 8; i++) {
            if (!isfinite(numbers[i])) {
                s->broken = "the truth is not finite";
            }
        }
    }
}

void subject_run(struct subject *s, uint64_t first, uint64_t last)
{
    const bool motion = strcmp(s->now.descriptor->kind, OTO_KIND_MOTION) == 0;
    const bool estimates = oto_plugin_estimator(s->now.plugin) != NULL;
    for (uint64_t n = first; n <= last && s->broken == NULL; n++) {
        const struct oto_instant at = {(int64_t)(n * (motion ? 1000000u : 5000000u)), 0.0};
        const uint64_t tick = motion ? n - 1 : 5 * n - 1;
        struct oto_sensor_input input;
        struct oto_estimator_step samples = {.sample_count = 0};
        const struct oto_sensor_step sensor = {.input = &input, .input_at = input_at};
        input_when((double)at.t_ns * 1e-9, &input);
        if (estimates) {
            estimator_feed(&s->inputs, &input, n, at, &samples);
        }
        enum oto_step_status result = OTO_STEP_OK;
        subject_allocations = 0;
        COUNTED(result = srv_instance_step(&s->now, tick, n, at, motion || estimates ? NULL : &sensor,
                                           estimates ? &samples : NULL));
        if (subject_allocations != 0) {
            s->broken = "step allocates or frees";
        } else if (result == OTO_STEP_ERROR || result == OTO_STEP_FATAL) {
            s->broken = "step fails on its own defaults";
        } else if (result == OTO_STEP_DISCARD) {
            s->discarded++;
        } else {
            take_outputs(s);
        }
        take_truth(s, tick);
        if (s->now.ops->validate != NULL && s->now.ops->validate(&s->now.abi) != OTO_OK) {
            s->broken = "validate refuses a state that init and step made";
        }
        if (!subject_guards_hold(s)) {
            s->broken = "it writes beyond its state";
        }
    }
}

uint64_t subject_state_hash(const struct subject *s)
{
    return oto_fnv1a64_more(OTO_FNV1A64_START, s->now.abi.state, s->now.descriptor->state_bytes);
}
