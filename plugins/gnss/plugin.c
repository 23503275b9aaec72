/* The adapter of gnss_model.h to the plugin ABI. */
#include "gnss_model.h"
#include "otolith/plugin.h"

#include <string.h>

#define MODES OTO_NAVSAT_FIXED

static const struct oto_named_value mode_names[] = {{"single", OTO_NAVSAT_SINGLE},
                                                    {"dgps", OTO_NAVSAT_DGPS},
                                                    {"float", OTO_NAVSAT_FLOAT},
                                                    {"fixed", OTO_NAVSAT_FIXED}};

/* clang-format off */
#define ROW_N(KEY, MEMBER, COUNT, MINIMUM, MAXIMUM, DEFAULT, UNIT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = (COUNT), .offset = OTO_PARAM_AT(struct gnss_params, MEMBER), \
     .flags = OTO_PARAM_RUNTIME | ((COUNT) > 1 ? OTO_PARAM_SCALAR_FILLS : 0u), .minimum = (MINIMUM), .maximum = (MAXIMUM), \
     .default_value = (DEFAULT), .unit = UNIT, .text = TEXT}
#define ROW(KEY, MEMBER, MINIMUM, MAXIMUM, DEFAULT, UNIT, TEXT) ROW_N(KEY, MEMBER, 1, MINIMUM, MAXIMUM, DEFAULT, UNIT, TEXT)
#define PAIR(KEY, MEMBER, DEFAULT, UNIT, TEXT) ROW_N(KEY, MEMBER, 2, 0, 1e6, DEFAULT, UNIT, TEXT)
#define WHOLE(KEY, MEMBER, MAXIMUM, DEFAULT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct gnss_params, MEMBER), \
     .flags = OTO_PARAM_RUNTIME, .maximum = (MAXIMUM), .default_value = (DEFAULT), .unit = "", .text = TEXT}
#define SWITCH(KEY, MEMBER, DEFAULT, TEXT) \
    {.key = KEY, .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct gnss_params, MEMBER), \
     .flags = OTO_PARAM_RUNTIME, .maximum = 1, .default_value = (DEFAULT), .unit = "", .text = TEXT}
#define MODE(NAME, M, SIGMA, TAU, WHITE, V_SIGMA, V_TAU, V_WHITE, FIX) \
    PAIR(NAME ".position_sigma_m", modes[M].position_sigma_m, SIGMA, "m", "Gauss-Markov error: each horizontal axis, vertical"), \
    ROW(NAME ".position_tau_s", modes[M].position_tau_s, 0, 1e9, TAU, "s", "its correlation time; 0: independent samples"), \
    PAIR(NAME ".position_white_m", modes[M].position_white_m, WHITE, "m", "white error: each horizontal axis, vertical"), \
    PAIR(NAME ".velocity_sigma_m_s", modes[M].velocity_sigma_m_s, V_SIGMA, "m/s", "Gauss-Markov error: each horizontal axis, vertical"), \
    ROW(NAME ".velocity_tau_s", modes[M].velocity_tau_s, 0, 1e9, V_TAU, "s", "its correlation time; 0: independent samples"), \
    PAIR(NAME ".velocity_white_m_s", modes[M].velocity_white_m_s, V_WHITE, "m/s", "white error: each horizontal axis, vertical"), \
    ROW(NAME ".time_to_fix_s", modes[M].time_to_fix_s, 0, 1e6, FIX, "s", "from the first fix of any mode to this mode")

static const struct oto_param params[] = {
    {.key = "sample_rate_hz", .type = OTO_PARAM_F64, .count = 1, .offset = OTO_PARAM_AT(struct gnss_params, sample_rate_hz),
     .flags = OTO_PARAM_RATE, .maximum = 1e6, .default_value = 5, .unit = "Hz", .text = "the node's rate if the world sets none"},
    {.key = "mode", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct gnss_params, mode),
     .flags = OTO_PARAM_RUNTIME, .minimum = 1, .maximum = MODES, .default_value = OTO_NAVSAT_SINGLE, .unit = "",
     .names = mode_names, .name_count = 4, .text = "highest mode that the receiver reaches"},
    MODE("single", 0, 1.0, 300, 0.1, 0.03, 10, 0.03, 0),
    MODE("dgps", 1, 0.5, 100, 0.1, 0.03, 10, 0.03, 2),
    MODE("float", 2, 0.15, 60, 0.02, 0.02, 10, 0.03, 5),
    MODE("fixed", 3, 0.008, 60, 0.004, 0.02, 10, 0.03, 10),
    SWITCH("acquired_at_start", acquired_at_start, 1, "at time zero the highest mode is reached; false: first_fix_s and time_to_fix_s apply"),
    ROW("first_fix_s", first_fix_s, 0, 1e6, 25, "s", "from a cold start to the first fix"),
    ROW("reacquisition_s", reacquisition_s, 0, 1e6, 1, "s", "from the end of an outage to the first fix"),
    ROW("latency_ms", latency_ms, 0, 1000, 100, "ms", "age of the measurement when its record is published"),
    ROW("jitter_ms", jitter_ms, 0, 1000, 0, "ms", "standard deviation of that age; it stays between 0 and 1 s"),
    ROW("geoid_separation_m", geoid_separation_m, -200, 200, 0, "m", "height of the geoid over the ellipsoid: altitude_msl = altitude - this"),
    ROW("course_min_speed_m_s", course_min_speed_m_s, 0, 1e3, 0.2, "m/s", "below it the course is undefined (-1)"),
    ROW("accuracy_scale", accuracy_scale, 0, 1e3, 1, "1", "reported over true standard deviation; below 1: the receiver is over-confident"),
    ROW("hdop", hdop, 0, 100, 0.8, "1", "reported horizontal dilution of precision"),
    ROW("vdop", vdop, 0, 100, 1.2, "1", "reported vertical dilution of precision"),
    WHOLE("satellites", satellites, 255, 14, "in use while there is a fix"),
    WHOLE("service", service, 15, 1, "systems in use: 1 GPS, 2 GLONASS, 4 BeiDou, 8 Galileo, summed"),
    ROW("jam.tracking_db", jam_tracking_db, 0, 200, 20, "dB", "a jam of this much or more is an outage"),
    ROW("jam.carrier_db", jam_carrier_db, 0, 200, 10, "dB", "from here on float and fixed are lost; below, errors grow by 10^(dB/20)"),
    ROW("utc_start_s", utc_start_s, 0, 86400, 43200, "s", "UTC of time zero on the world's date"),
    SWITCH("clean", clean, 0, "whether channel `clean` has the record without disturbances"),
};
/* clang-format on */

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *block,
                               const void **data, struct oto_error *error)
{
    struct gnss_plan *plan = (struct gnss_plan *)host->alloc(host->context, sizeof *plan);
    if (plan == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "gnss: out of memory");
    }
    const struct gnss_params *own = (const struct gnss_params *)block;
    const enum oto_status status = gnss_prepare(own, setup->rate_hz, setup->noise_key, plan, error);
    plan->origin = (oto_geodetic){setup->origin_latitude_rad, setup->origin_longitude_rad, setup->origin_altitude_m};
    plan->q_enu_from_ecef = oto_q_enu_from_ecef(plan->origin.lat_rad, plan->origin.lon_rad);
    plan->utc_start_ns = setup->date_days * INT64_C(86400000000000) + (int64_t)(own->utc_start_s * 1e9 + 0.5);
    *data = plan;
    return status;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    gnss_init((const struct gnss_plan *)instance->data, (struct gnss_state *)instance->state);
    return OTO_OK;
}

static void add_displacement(const struct gnss_plan *plan, const struct oto_disturbance *one,
                             struct gnss_disturbance *sum)
{
    const oto_vec3 direction = gnss_fault_direction(plan, one->id);
    sum->displacement_enu_m = oto_vec3_add_scaled(sum->displacement_enu_m, direction, one->value);
    if (one->kind == OTO_FAULT_SPOOF) { /* a spoofer changes position and velocity consistently, multipath only the position */
        sum->rate_enu_m_s = oto_vec3_add_scaled(sum->rate_enu_m_s, direction, one->rate_s);
    }
}

static struct gnss_disturbance sum_disturbances(const struct gnss_plan *plan, const struct oto_sensor_input *input)
{
    struct gnss_disturbance sum;
    memset(&sum, 0, sizeof sum);
    for (uint32_t i = 0; i < input->disturbance_count; i++) {
        const struct oto_disturbance *one = &input->disturbances[i];
        sum.outage = sum.outage || one->kind == OTO_FAULT_OUTAGE;
        sum.jam_db += one->kind == OTO_FAULT_JAM ? one->value : 0.0;
        if (one->kind == OTO_FAULT_MULTIPATH || one->kind == OTO_FAULT_SPOOF) {
            add_displacement(plan, one, &sum);
        }
    }
    return sum;
}

enum { PORT_FIX, PORT_CLEAN, PORTS };

static bool report_clean(const struct gnss_plan *plan, struct gnss_state *state, uint64_t n, const struct gnss_truth *truth,
                         struct oto_navsat_record *record)
{
    const struct gnss_disturbance none = {0};
    return gnss_report(plan, state, n, truth, gnss_track_clean(plan, truth->t_ns), &none, state->last_clean_deg_m, record);
}

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct gnss_plan *plan = (const struct gnss_plan *)instance->data;
    struct gnss_state *state = (struct gnss_state *)instance->state;
    const struct oto_sensor_input *input = step->sensor.input;
    struct oto_sensor_input past;
    const int64_t age_ns = gnss_age_ns(plan, step->n, step->at.t_ns);
    if (age_ns > 0) {
        const struct oto_instant at = {step->at.t_ns - age_ns, step->at.sub_ns};
        const enum oto_step_status status = step->sensor.input_at(step->sensor.input_context, at, &past);
        if (status >= OTO_STEP_DISCARD) {
            return status;
        }
        input = &past;
    }
    const struct gnss_truth truth = {step->at.t_ns, age_ns, input->position_sensor_enu_m, input->velocity_sensor_enu_m_s};
    const struct gnss_disturbance disturbance = sum_disturbances(plan, step->sensor.input);
    gnss_advance(plan, state, step->n);
    const uint8_t mode = gnss_track(plan, state, step->at.t_ns, &disturbance);
    const bool finite = gnss_report(plan, state, step->n, &truth, mode, &disturbance, state->last_deg_m,
                                    (struct oto_navsat_record *)step->outputs[PORT_FIX].payload);
    if (finite && plan->params.clean != 0) {
        (void)report_clean(plan, state, step->n, &truth, (struct oto_navsat_record *)step->outputs[PORT_CLEAN].payload);
    }
    return finite ? OTO_STEP_OK : OTO_STEP_DISCARD;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    const struct gnss_state *state = (const struct gnss_state *)instance->state;
    double sum = 0.0;
    for (int i = 0; i < GNSS_FIX_MODES * GNSS_PROCESSES; i++) {
        sum += state->process[i / GNSS_PROCESSES][i % GNSS_PROCESSES];
    }
    for (int i = 0; i < 3; i++) {
        sum += state->last_deg_m[i] + state->last_clean_deg_m[i];
    }
    return sum - sum == 0.0 ? OTO_OK : OTO_CORRUPT;
}

static const struct oto_port outputs[] = {
    {"", &oto_navsat_type, OTO_PORT_ALWAYS, 0},
    {"clean", &oto_navsat_type, OTO_PARAM_AT(struct gnss_params, clean), 0},
};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .flags = OTO_PLUGIN_FEELS(OTO_FAULT_OUTAGE) | OTO_PLUGIN_FEELS(OTO_FAULT_MULTIPATH) |
             OTO_PLUGIN_FEELS(OTO_FAULT_SPOOF) | OTO_PLUGIN_FEELS(OTO_FAULT_JAM),
    .id = "gnss",
    .kind = OTO_KIND_SENSOR,
    .version = "1.0.0",
    .text = "satellite navigation receiver: fixes with the errors of their mode, acquisition, latency",
    .outputs = outputs,
    .output_count = PORTS,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct gnss_params),
    .state_bytes = sizeof(struct gnss_state),
    .state_version = 1,
    .migrates_from = 1,
};

static const struct oto_plugin_ops ops = {
    .size = sizeof ops, .prepare = prepare, .init = init, .step = step, .validate = validate};

OTO_PLUGIN_DEFINE(descriptor, ops, NULL);
