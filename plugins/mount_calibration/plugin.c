/* The adapter of calibrator.h to the plugin ABI: an estimator that reads one IMU and one speed. */
#include "calibrator.h"
#include "otolith/estimator.h"

enum { INPUT_IMU, INPUT_SPEED, INPUTS };
enum { AXES = 6 };

struct block {
    struct mountcal_params calibration;
    double output_rate_hz;
    int64_t diagnostics, histogram;
};

struct prepared {
    struct mountcal_plan plan;
    const struct oto_field *axes[AXES]; /* specific force x y z, angular rate x y z */
    const struct oto_field *speed;
};

/* clang-format off */
#define F64(member_, key_, count_, flags_, min_, max_, default_, unit_, text_) \
    {.key = key_, .type = OTO_PARAM_F64, .count = count_, .offset = OTO_PARAM_AT(struct block, member_), .flags = flags_, \
     .minimum = min_, .maximum = max_, .default_value = default_, .unit = unit_, .text = text_}
#define EACH(member_, element_, key_, min_, max_, default_, unit_, text_) \
    {.key = key_, .type = OTO_PARAM_F64, .count = 1, \
     .offset = OTO_PARAM_AT(struct block, member_) + 8 * (element_), .flags = OTO_PARAM_RUNTIME, .minimum = min_, \
     .maximum = max_, .default_value = default_, .unit = unit_, .text = text_}
#define RUN OTO_PARAM_RUNTIME
#define OPEN (OTO_PARAM_RUNTIME | OTO_PARAM_OPEN_MIN)

static const struct oto_named_value methods[] = {{"joint", OTO_CALIBRATION_JOINT}, {"histogram", OTO_CALIBRATION_HISTOGRAM}};

static const struct oto_named_value paths[] = {{"road", JOINT_FOLLOWS}, {"level", JOINT_STAYS_LEVEL}};
static const struct oto_named_value rolls[] = {{"repeatable", OTO_CALIBRATION_ROLL_REPEATABLE}, {"absolute", OTO_CALIBRATION_ROLL_ABSOLUTE}};
static const struct oto_named_value sides[] = {{"unknown", 0}, {"right", 1}, {"left", -1}};

static const struct oto_param params[] = {
    {.key = "method", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct block, calibration.method), .flags = RUN,
     .maximum = 1, .default_value = OTO_CALIBRATION_JOINT, .unit = "", .names = methods, .name_count = 2,
     .text = "joint: one filter over all; histogram: the published voting scheme"},
    {.key = "running", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct block, calibration.running), .flags = RUN,
     .maximum = 1, .default_value = 1, .unit = "", .text = "false stops: what comes in is not used, the result stays"},
    {.key = "reset", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct block, calibration.reset), .flags = RUN,
     .maximum = 9e15, .unit = "", .text = "every change of this number restarts the calibration at the nominal mount"},
    {.key = "garage", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct block, calibration.garage),
     .maximum = 1, .unit = "", .text = "the floor is level: five seconds at rest, then starts and stops, give two degrees"},
    {.key = "opposite", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct block, calibration.opposite),
     .maximum = 1, .unit = "", .text = "two rests on the same spot with opposite headings: the floor need not be level"},
    {.key = "path", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct block, calibration.path),
     .maximum = 1, .default_value = JOINT_FOLLOWS, .unit = "", .names = paths, .name_count = 2,
     .text = "road: as cars drive; level: a simulation that tilts the body on a path that stays level"},
    {.key = "roll", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct block, calibration.roll), .flags = RUN,
     .minimum = OTO_CALIBRATION_ROLL_REPEATABLE, .maximum = OTO_CALIBRATION_ROLL_ABSOLUTE, .default_value = OTO_CALIBRATION_ROLL_ABSOLUTE,
     .unit = "", .names = rolls, .name_count = 2, .text = "absolute: to gravity; repeatable: to the mean road, crown included"},
    F64(calibration.nominal_rpy_deg, "nominal_rpy_deg", 3, RUN, -360, 360, 0, "deg", "mount.rpy_deg as planned"),
    EACH(calibration.box_deg, 0, "box.roll_deg", 0.1, 45, 10, "deg", "how far the roll may be from the nominal one"),
    EACH(calibration.box_deg, 1, "box.pitch_deg", 0.1, 45, 5, "deg", "how far the pitch may be"),
    EACH(calibration.box_deg, 2, "box.yaw_deg", 0.1, 45, 5, "deg", "how far the yaw may be"),
    F64(calibration.previous_rpy_deg, "previous.rpy_deg", 3, RUN, -360, 360, 0, "deg", "a previous result"),
    F64(calibration.previous_bound_deg, "previous.bound_3sigma_deg", 3, RUN, 0, 90, 0, "deg", "its bounds; 0: there is none"),
    EACH(calibration.compliance_deg_s2_m, 0, "compliance.pitch_deg_s2_m", -5, 5, -0.3, "deg.s^2/m", "pitch of the body for forward acceleration, negative: nose up"),
    EACH(calibration.compliance_deg_s2_m, 1, "compliance.roll_deg_s2_m", -5, 5, 0.35, "deg.s^2/m", "roll of the body for leftward acceleration, positive: to the right"),
    F64(calibration.compliance_sigma_deg_s2_m, "compliance.sigma_deg_s2_m", 2, RUN, 0, 5, 0.15, "deg.s^2/m", "how unsure both are: they are estimated"),
    {.key = "road.traffic_side", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct block, calibration.traffic_side),
     .flags = RUN, .minimum = -1, .maximum = 1, .unit = "", .names = sides, .name_count = 3,
     .text = "on which the vehicle drives: there the lane is lower"},
    F64(calibration.crown_deg, "road.crown_deg", 1, RUN, -10, 10, 0.9, "deg", "mean roll of the lane towards the side of the traffic"),
    F64(calibration.crown_sigma_deg, "road.crown_sigma_deg", 1, RUN, 0, 10, 0.4, "deg", "how unsure that is: it bounds the absolute roll"),
    F64(calibration.bank_deg, "road.bank_deg", 1, OPEN, 0, 20, 0.8, "deg", "rms of the road's bank about its mean, until it has been seen"),
    F64(calibration.road_length_m, "road.length_m", 1, OPEN, 0, 1e5, 150, "m", "over which bank is alike"),
    F64(calibration.vibration_deg, "vibration_deg", 1, RUN, 0, 5, 0.2, "deg", "rms pitch and roll of the body on its springs"),
    F64(calibration.speed_pitch_deg, "speed_pitch_deg", 1, RUN, -5, 5, -0.04, "deg", "pitch of the body at 30 m/s by drag and lift, negative: nose up"),
    F64(calibration.speed_pitch_sigma_deg, "speed_pitch_sigma_deg", 1, RUN, 0, 5, 0.04, "deg", "how unsure that is: on a highway it bounds the pitch"),
    F64(calibration.gyro_bias_range_rad_s, "gyro.bias_range_rad_s", 1, OPEN, 0, 1, 0.2, "rad/s", "largest bias of the gyroscope"),
    F64(calibration.gyro_noise_rad_s_rthz, "gyro.noise_rad_s_rthz", 1, OPEN, 0, 0.1, 1.7453e-4, "rad/s/Hz^.5", "noise density of the gyroscope"),
    F64(calibration.accel_bias_sigma_m_s2, "accel.bias_sigma_m_s2", 1, OPEN, 0, 5, 0.1, "m/s^2", "of the accelerometer's biases"),
    F64(calibration.accel_noise_m_s2_rthz, "accel.noise_m_s2_rthz", 1, OPEN, 0, 1, 0.003, "m/s^2/Hz^.5", "noise density of the accelerometer"),
    F64(calibration.axes_sigma, "imu.axes_sigma", 1, RUN, 0, 0.1, 0.001, "1", "cross terms of accelerometer and gyroscope: they bound all angles"),
    F64(calibration.scale_sigma, "imu.scale_sigma", 1, RUN, 0, 0.1, 0.003, "1", "how unsure the scales of accelerometer and gyroscope are"),
    EACH(calibration.position_sigma_m, 0, "position.sigma_x_m", 0, 10, 1.2, "m", "how unsure the mount's position is, from the axle that is not steered"),
    EACH(calibration.position_sigma_m, 1, "position.sigma_y_m", 0, 10, 0.4, "m", "from the middle"),
    EACH(calibration.position_sigma_m, 2, "position.sigma_z_m", 0, 10, 0.7, "m", "above the ground"),
    F64(calibration.speed_noise_m_s, "speed.noise_m_s", 1, OPEN, 0, 5, 0.03, "m/s", "noise of one report of speed"),
    F64(calibration.speed_scale_sigma, "speed.scale_sigma", 1, OPEN, 0, 0.5, 0.02, "1", "how unsure the scale of the speed is"),
    EACH(calibration.accept_bound_deg, 0, "accept.roll_deg", 0.001, 10, 0.3, "deg", "bound of the repeatable roll at which it is accepted"),
    EACH(calibration.accept_bound_deg, 1, "accept.pitch_deg", 0.001, 10, 0.3, "deg", "of the pitch"),
    EACH(calibration.accept_bound_deg, 2, "accept.yaw_deg", 0.001, 10, 0.3, "deg", "of the yaw"),
    F64(calibration.accept_sigmas, "accept.sigmas", 1, RUN, 0.1, 10, 3, "1", "standard deviations that these bounds have"),
    F64(calibration.accept_absolute_roll_deg, "accept.absolute_roll_deg", 1, RUN, 0.001, 20, 0.6, "deg", "bound of the absolute roll at which it is accepted"),
    F64(calibration.accept_absolute_roll_sigmas, "accept.absolute_roll_sigmas", 1, RUN, 0.1, 10, 1.96, "1", "standard deviations that it has"),
    EACH(calibration.histogram_range_deg, 0, "histogram.range.up_inclination_deg", 0.5, 45, 12, "deg", "votes beyond it are outliers"),
    EACH(calibration.histogram_range_deg, 1, "histogram.range.up_azimuth_deg", 0.5, 45, 7, "deg", "votes beyond it are outliers"),
    EACH(calibration.histogram_range_deg, 2, "histogram.range.forward_inclination_deg", 0.5, 45, 7, "deg", "votes beyond it are outliers"),
    EACH(calibration.histogram_range_deg, 3, "histogram.range.forward_azimuth_deg", 0.5, 45, 7, "deg", "votes beyond it are outliers"),
    F64(calibration.histogram_min_votes, "histogram.min_votes", 1, OPEN, 0, 1e9, 60, "", "votes of a peak that is accepted"),
    F64(calibration.histogram_noise_votes, "histogram.noise_votes", 1, RUN, 0, 1e9, 2, "", "a bin with fewer is noise"),
    F64(calibration.histogram_sigma_deg, "histogram.sigma_deg", 1, OPEN, 0, 45, 0.7, "deg", "width of the envelope that a single mode has"),
    F64(calibration.histogram_decay, "histogram.decay", 1, OPEN, 0, 1, 0.9995, "1", "what a vote is worth after one more: 1/(1 - decay) are remembered"),
    F64(calibration.histogram_short_scale, "histogram.short_scale", 1, OPEN, 0, 1, 0.1, "1", "memory of the short histogram, of the long one's"),
    F64(output_rate_hz, "output_rate_hz", 1, OTO_PARAM_RATE, 0, 1e6, 10, "Hz", "the node's rate where the world gives none"),
    {.key = "diagnostics", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct block, diagnostics), .flags = RUN,
     .maximum = 1, .default_value = 1, .unit = "", .text = "whether channel `diagnostics` says how it goes"},
    {.key = "histogram_channel", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct block, histogram), .flags = RUN,
     .maximum = 1, .default_value = 1, .unit = "", .text = "whether channel `histogram` shows the votes"},
};
/* clang-format on */

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static const char *const imu_fields[] = {"linear_acceleration.x",
                                         "linear_acceleration.y",
                                         "linear_acceleration.z",
                                         "angular_velocity.x",
                                         "angular_velocity.y",
                                         "angular_velocity.z",
                                         NULL};
static const char *const speed_fields[] = {"speed_m_s", NULL};

static const struct oto_input_port ports[INPUTS] = {
    {.name = "imu",
     .text = "specific force and angular rate of the IMU whose mount is asked for",
     .fields = imu_fields},
    {.name = "speed", .text = "the vehicle's speed along its x axis", .fields = speed_fields},
};

static const struct oto_estimator_extension estimator = {
    .size = sizeof estimator, .inputs = ports, .input_count = INPUTS};

static const struct oto_field *find(const struct oto_setup *setup, uint32_t input, const char *name,
                                    struct oto_error *error)
{
    const struct oto_input_binding *binding = &setup->estimator.inputs[input];
    const struct oto_field *field = oto_record_field(binding->type, name);
    if (field == NULL) {
        oto_fail(error, OTO_INVALID, "inputs.%s: %s has no field %s; give a channel that has it", binding->name,
                 binding->topic, name);
    }
    return field;
}

static enum oto_status find_fields(const struct oto_setup *setup, struct prepared *prepared, struct oto_error *error)
{
    if (setup->estimator.input_count < INPUTS || setup->estimator.inputs == NULL) {
        return oto_fail(error, OTO_INVALID, "inputs: %u given; give both `imu` and `speed`",
                        setup->estimator.input_count);
    }
    for (int i = 0; i < AXES; i++) {
        prepared->axes[i] = find(setup, INPUT_IMU, imu_fields[i], error);
        if (prepared->axes[i] == NULL) {
            return OTO_INVALID;
        }
    }
    prepared->speed = find(setup, INPUT_SPEED, speed_fields[0], error);
    return prepared->speed != NULL ? OTO_OK : OTO_INVALID;
}

/* ---- operations -------------------------------------------------------------------------------------------------- */

static enum oto_status prepare(const struct oto_host *host, const struct oto_setup *setup, const void *parameters,
                               const void **data, struct oto_error *error)
{
    const struct block *block = (const struct block *)parameters;
    struct mountcal_params calibration = block->calibration;
    struct prepared *prepared = (struct prepared *)host->alloc(host->context, sizeof *prepared);
    enum oto_status status;
    if (prepared == NULL) {
        return oto_fail(error, OTO_NO_MEMORY, "no memory for %zu bytes of prepared data", sizeof *prepared);
    }
    status = find_fields(setup, prepared, error);
    if (status == OTO_OK) {
        oto_vec3_to_array(setup->estimator.inputs[INPUT_IMU].mount_position_body_m, calibration.position_body_m);
        status = mountcal_prepare(&calibration, &prepared->plan, error);
    }
    *data = prepared;
    return status;
}

static enum oto_status init(const struct oto_instance *instance, struct oto_error *error)
{
    (void)error;
    mountcal_init(&((const struct prepared *)instance->data)->plan, (struct mountcal_state *)instance->state);
    return OTO_OK;
}

static void set_params(const struct oto_instance *instance, const void *old_params)
{
    mountcal_adapt(&((const struct prepared *)instance->data)->plan, &((const struct block *)old_params)->calibration,
                   (struct mountcal_state *)instance->state);
}

static void take(const struct prepared *prepared, struct mountcal_state *state, const struct oto_input_sample *sample)
{
    double axes[AXES];
    if (sample->input == INPUT_SPEED) {
        mountcal_push_speed(state, sample->t_ns,
                            oto_input_number(prepared->speed, 0, sample->payload));
        return;
    }
    for (int i = 0; i < AXES; i++) {
        axes[i] = oto_input_number(prepared->axes[i], 0, sample->payload);
    }
    mountcal_push_imu(&prepared->plan, state, sample->t_ns, axes, axes + 3);
}

enum { PORT_RESULT, PORT_DIAGNOSTICS, PORT_HISTOGRAM, PORTS };

static enum oto_step_status step(const struct oto_instance *instance, const struct oto_step *step)
{
    const struct prepared *prepared = (const struct prepared *)instance->data;
    struct mountcal_state *state = (struct mountcal_state *)instance->state;
    const struct oto_output *outputs = step->outputs;
    for (uint32_t i = 0; i < step->estimator.sample_count; i++) {
        take(prepared, state, &step->estimator.samples[i]);
    }
    mountcal_result(&prepared->plan, state, (struct oto_mount_calibration_record *)outputs[PORT_RESULT].payload);
    if (outputs[PORT_DIAGNOSTICS].emit != 0) {
        mountcal_diagnostics(&prepared->plan, state,
                             (struct oto_mount_calibration_diagnostics_record *)outputs[PORT_DIAGNOSTICS].payload);
    }
    if (outputs[PORT_HISTOGRAM].emit != 0) {
        mountcal_histogram(&prepared->plan, state,
                           (struct oto_mount_calibration_histogram_record *)outputs[PORT_HISTOGRAM].payload);
    }
    return OTO_STEP_OK;
}

static enum oto_status validate(const struct oto_instance *instance)
{
    return mountcal_state_is_valid((const struct mountcal_state *)instance->state) ? OTO_OK : OTO_CORRUPT;
}

static const struct oto_port outputs[PORTS] = {
    {"", &oto_mount_calibration_type, OTO_PORT_ALWAYS, 0},
    {"diagnostics", &oto_mount_calibration_diagnostics_type, OTO_PARAM_AT(struct block, diagnostics), 0},
    {"histogram", &oto_mount_calibration_histogram_type, OTO_PARAM_AT(struct block, histogram), 0},
};

static const struct oto_plugin_descriptor descriptor = {
    .size = sizeof descriptor,
    .id = "mount_calibration",
    .kind = OTO_KIND_ESTIMATOR,
    .version = "1.0.0",
    .text = "how an IMU stands on its vehicle, from its own samples and the speed while driving",
    .outputs = outputs,
    .output_count = PORTS,
    .param_count = sizeof params / sizeof *params,
    .params = params,
    .params_bytes = sizeof(struct block),
    .state_bytes = sizeof(struct mountcal_state),
    .state_version = 11,
    .migrates_from = 11,
};

static const struct oto_plugin_ops ops = {
    .size = sizeof ops,
    .prepare = prepare,
    .init = init,
    .set_params = set_params,
    .step = step,
    .validate = validate,
};

static const void *extension(const char *id)
{
    return strcmp(id, OTO_EXTENSION_ESTIMATOR) == 0 ? &estimator : NULL;
}

OTO_PLUGIN_DEFINE(descriptor, ops, extension);
