/* The parameter table. */
#include "ekf_params.h"

#include "ekf_measure.h"

/* clang-format off */
/* Names of the models and their index in num_models. */
static const struct oto_named_value models[] = {
    {"stationary", 0}, {"constant_velocity", 1}, {"constant_acceleration", 2}, {"ctrv", 3}, {"catr", 4}, {"catr_box", 5},
    {"parameter_estimator", 6}, {"linear_xy", 7}, {"linear_xyz", 8}, {"linear_xyyaw", 9}, {"linear_xyzyaw", 10},
    {"linear_xyzrpy", 11}, {"kinematic_bicycle", 12}, {"linear_tyre", 13}, {"rigid_body_6dof", 14}, {"cv", 1}, {"ca", 2},
};
static const struct oto_named_value signs[] = {{"conventional", NUM_TYRE_CONVENTIONAL}, {"snippet", NUM_TYRE_SNIPPET}};
static const struct oto_named_value kinds[] = {{"random_walk", EKF_RANDOM_WALK}, {"white_acceleration", EKF_WHITE_ACCELERATION}};
static const struct oto_named_value functions[] = {
    {"linear", EKF_LINEAR}, {"position", EKF_POSITION_FIX}, {"range_bearing_range_rate", EKF_RANGE_BEARING_RANGE_RATE},
    {"range_bearing", EKF_RANGE_BEARING}, {"range", EKF_RANGE}, {"bearing", EKF_BEARING}, {"body_speed", EKF_BODY_SPEED},
    {"body_velocity", EKF_BODY_VELOCITY}, {"velocity", EKF_ENU_VELOCITY}, {"heading", EKF_HEADING_ANGLE},
    {"magnetic_heading", EKF_MAGNETIC_HEADING},
    {"yaw_rate", EKF_YAW_RATE_ABOUT_Z}, {"angular_rate", EKF_ANGULAR_RATE}, {"attitude", EKF_ATTITUDE_QUATERNION},
    {"specific_force", EKF_SPECIFIC_FORCE},
};
static const struct oto_named_value axes[] = {{"all", 0}, {"x", 1}, {"y", 2}, {"xy", 3}, {"z", 4}, {"xz", 5}, {"yz", 6}, {"xyz", 7}};
static const struct oto_named_value starts[] = {{"never", EKF_NEVER}, {"state", EKF_STATE}, {"state_and_sigma", EKF_STATE_AND_SIGMA}};
static const struct oto_named_value channel[] = {{"channel", EKF_MOUNT_OF_CHANNEL}};

#define COUNT(table) (uint32_t)(sizeof(table) / sizeof *(table))
#define TEXT(BLOCK, MEMBER, FLAGS, ABOUT) \
    {.key = #MEMBER, .type = OTO_PARAM_TEXT, .count = sizeof ((BLOCK *)0)->MEMBER, .offset = OTO_PARAM_AT(BLOCK, MEMBER), \
     .flags = (FLAGS), .unit = "", .text = ABOUT}
#define NUMBERS(BLOCK, MEMBER, KEY, N, FLAGS, LEAST, MOST, DEFAULT, UNIT, ABOUT) \
    {.key = KEY, .type = OTO_PARAM_F64, .count = (N), .offset = OTO_PARAM_AT(BLOCK, MEMBER), .flags = (FLAGS), \
     .minimum = (LEAST), .maximum = (MOST), .default_value = (DEFAULT), .unit = UNIT, .text = ABOUT}
#define WORD(BLOCK, MEMBER, FLAGS, TABLE, MOST, DEFAULT, ABOUT) \
    {.key = #MEMBER, .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(BLOCK, MEMBER), .flags = (FLAGS), \
     .maximum = (MOST), .default_value = (DEFAULT), .unit = "", .text = ABOUT, .names = TABLE, .name_count = COUNT(TABLE)}
#define MOUNT(MEMBER, UNIT, ABOUT) \
    {.key = #MEMBER, .type = OTO_PARAM_F64, .count = 3, .offset = OTO_PARAM_AT(struct ekf_measurement, MEMBER), \
     .flags = OTO_PARAM_SCALAR_FILLS, .minimum = -1e6, .maximum = 1e6, .default_value = EKF_MOUNT_OF_CHANNEL, .unit = UNIT, \
     .text = ABOUT, .names = channel, .name_count = 1}
#define LIST(MEMBER, KEY, ITEMS, ITEM, MOST, ABOUT) \
    {.key = KEY, .type = OTO_PARAM_LIST, .count = (MOST), .offset = OTO_PARAM_AT(struct ekf_params, MEMBER), .unit = "", \
     .text = ABOUT, .items = ITEMS, .item_count = COUNT(ITEMS), .item_bytes = sizeof(struct ITEM)}

static const struct oto_param initial_items[] = {
    TEXT(struct ekf_initial, state, OTO_PARAM_REQUIRED, "name of the state, as in `otolith model info`"),
    NUMBERS(struct ekf_initial, value, "value", 1, 0, 0, 0, 0, "", "value at the first sample, in the unit of the state"),
    NUMBERS(struct ekf_initial, sigma, "sigma", 1, 0, 0, 1e9, 1, "", "its standard deviation, in the unit of the state"),
};
static const struct oto_param noise_items[] = {
    TEXT(struct ekf_noise, state, OTO_PARAM_REQUIRED, "what is disturbed"),
    WORD(struct ekf_noise, kind, 0, kinds, 2, EKF_RANDOM_WALK, "random_walk: noise in the state; white_acceleration: noise in its rate, Q = q G G^T with G = (dt^2/2, dt)"),
    TEXT(struct ekf_noise, rate, 0, "white_acceleration: the state that is the rate of `state`"),
    NUMBERS(struct ekf_noise, q, "q", 1, OTO_PARAM_REQUIRED, 0, 1e18, 0, "", "random_walk: variance per second; white_acceleration: variance of the acceleration"),
};
static const struct oto_param row_items[] = {
    TEXT(struct ekf_measurement, input, OTO_PARAM_REQUIRED, "name of the input, as under `inputs` of the node"),
    WORD(struct ekf_measurement, function, OTO_PARAM_REQUIRED, functions, EKF_FUNCTIONS - 1, 0, "measurement function; see the README"),
    TEXT(struct ekf_measurement, fields, 0, "names of fields of the record, separated by blanks; none: those of the standard record"),
    TEXT(struct ekf_measurement, states, 0, "function linear: a state for each field"),
    WORD(struct ekf_measurement, components, 0, axes, 7, 0, "axes of a vector that are used"),
    NUMBERS(struct ekf_measurement, sigma, "sigma", 3, OTO_PARAM_REQUIRED | OTO_PARAM_SCALAR_FILLS, 0, 1e9, 0, "", "standard deviation of each row of the innovation"),
    NUMBERS(struct ekf_measurement, correlation, "correlation", 3, 0, -1, 1, 0, "", "correlation of rows 0 1, 0 2 and 1 2"),
    TEXT(struct ekf_measurement, covariance_field, 0, "field of 9 numbers, row-major, used instead of sigma if its first number is above 0"),
    TEXT(struct ekf_measurement, age_field, 0, "field with the age of the measurement at the time of the sample, in ns"),
    NUMBERS(struct ekf_measurement, scale, "scale", 1, 0, 0, 0, 1, "", "factor of the fields"),
    NUMBERS(struct ekf_measurement, gate, "gate", 1, 0, 0, 0.9999999999, 0, "", "probability that a good measurement passes (chi-square); 0: no gate"),
    WORD(struct ekf_measurement, initialise, 0, starts, 2, EKF_NEVER, "the first sample sets the states that it observes; state_and_sigma: also their variance"),
    {.key = "optional", .type = OTO_PARAM_BOOL, .count = 1, .offset = OTO_PARAM_AT(struct ekf_measurement, optional), .maximum = 1,
     .unit = "", .text = "the input may be unbound, and a sample whose fields are all NaN has no such measurement"},
    NUMBERS(struct ekf_measurement, sensor_position_enu_m, "sensor_position_enu_m", 3, 0, 0, 0, 0, "m", "functions of range and bearing: position of the sensor"),
    MOUNT(mount_position_m, "m", "lever arm of the sensor on the body; channel: that of the channel"),
    MOUNT(mount_rpy_deg, "deg", "roll, pitch, yaw that rotate sensor axes to body axes; channel: those of the channel"),
};
static const struct oto_param truth_items[] = {
    TEXT(struct ekf_truth, state, OTO_PARAM_REQUIRED, "state whose truth is known"),
    TEXT(struct ekf_truth, field, OTO_PARAM_REQUIRED, "field of the input `truth`, in the state's unit"),
};

#define PARAM(MEMBER, KEY, LEAST, MOST, DEFAULT, UNIT, ABOUT) \
    NUMBERS(struct ekf_params, MEMBER, KEY, 1, 0, LEAST, MOST, DEFAULT, UNIT, ABOUT)
const struct oto_param ekf_param_table[EKF_PARAM_COUNT] = {
    NUMBERS(struct ekf_params, sample_rate_hz, "sample_rate_hz", 1, OTO_PARAM_RATE, 0, 1e6, 0, "Hz", "estimates per second; 0: the rate of the world, over logs one at each sample"),
    WORD(struct ekf_params, model, 0, models, 14, 4, "process model: name of a motion model"),
    LIST(initial_count, "initial", initial_items, ekf_initial, OTO_MODEL_MAX_STATES, "states at the first sample; states not listed: 0 with sigma 1"),
    LIST(noise_count, "process_noise", noise_items, ekf_noise, EKF_MOST_NOISES, "process noise"),
    LIST(row_count, "measurements", row_items, ekf_measurement, EKF_MOST_ROWS, "measurements; several rows may use one input"),
    LIST(truth_count, "truth", truth_items, ekf_truth, OTO_MODEL_MAX_STATES, "fields of the input `truth`; none: a truth record, and all states"),
    PARAM(max_step_s, "max_step_s", 1e-6, 1e6, 0.1, "s", "a longer gap is predicted in several steps, at most 64"),
    PARAM(late_limit_s, "late_limit_s", 0, 3600, 0.5, "s", "a sample that is older than the filter by more than this is skipped"),
    {.key = "parameters.count", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct ekf_params, estimator.count), .minimum = 1,
     .maximum = NUM_ESTIMATOR_MOST, .default_value = 1, .unit = "", .text = "model parameter_estimator: number of states"},
    PARAM(bicycle.front_m, "bicycle.front_axle_m", 0.01, 100, 1.2, "m", "model kinematic_bicycle: from the centre of gravity to the front axle"),
    PARAM(bicycle.rear_m, "bicycle.rear_axle_m", 0, 100, 1.5, "m", "… to the rear axle"),
    PARAM(bicycle.steering_rad, "bicycle.steering_rad", -1.5, 1.5, 0, "rad", "… of the front wheel, positive to the left"),
    PARAM(bicycle.accel_m_s2, "bicycle.accel_m_s2", -100, 100, 0, "m/s^2", "… rate of the speed"),
    PARAM(tyre.front_m, "tyre.front_axle_m", 0.01, 100, 1.2, "m", "model linear_tyre: from the centre of gravity to the front axle"),
    PARAM(tyre.rear_m, "tyre.rear_axle_m", 0.01, 100, 1.5, "m", "… to the rear axle"),
    PARAM(tyre.front_stiffness_n_rad, "tyre.front_stiffness_n_rad", -1e7, 1e7, 80000, "N/rad", "… cornering stiffness of the front axle"),
    PARAM(tyre.rear_stiffness_n_rad, "tyre.rear_stiffness_n_rad", -1e7, 1e7, 90000, "N/rad", "… of the rear axle"),
    PARAM(tyre.mass_kg, "tyre.mass_kg", 1, 1e6, 1500, "kg", "… of the vehicle"),
    PARAM(tyre.yaw_inertia_kg_m2, "tyre.yaw_inertia_kg_m2", 0.1, 1e7, 2500, "kg m^2", "… about the centre of gravity"),
    PARAM(tyre.jerk_m_s3, "tyre.jerk_m_s3", -1000, 1000, 0, "m/s^3", "… rate of ax"),
    PARAM(tyre.steering_rate_rad_s, "tyre.steering_rate_rad_s", -10, 10, 0, "rad/s", "… rate of delta"),
    PARAM(tyre.least_speed_m_s, "tyre.least_speed_m_s", 0.01, 100, 0.5, "m/s", "… smallest speed for the slip"),
    {.key = "tyre.sign_convention", .type = OTO_PARAM_I64, .count = 1, .offset = OTO_PARAM_AT(struct ekf_params, tyre.sign), .minimum = 1,
     .maximum = 2, .default_value = NUM_TYRE_CONVENTIONAL, .unit = "", .names = signs, .name_count = 2,
     .text = "… conventional: stiffness > 0, delta positive to the left; snippet: stiffness < 0, delta positive to the right"},
    NUMBERS(struct ekf_params, inertia_kg_m2, "body.inertia_kg_m2", 3, OTO_PARAM_SCALAR_FILLS, 1e-12, 1e12, 1, "kg m^2", "model rigid_body_6dof: principal moments; only their ratios matter"),
    PARAM(step_s, "body.step_s", 1e-6, 1, 0.001, "s", "… longest step of the integrator"),
};
/* clang-format on */


/* A list must follow its length directly. */
#define BEHIND(LENGTH, ITEMS) (offsetof(struct ekf_params, ITEMS) == offsetof(struct ekf_params, LENGTH) + 8)
_Static_assert(BEHIND(initial_count, initial) && BEHIND(noise_count, noise) && BEHIND(row_count, rows) &&
                   BEHIND(truth_count, truth), "layout of lists");
