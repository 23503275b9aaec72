#include "ekf_plan.h"

#include <stdio.h>
#include <string.h>

#include "otolith/hash.h"

/* ---- names ---- */

static enum oto_status find_state(const struct ekf_plan *plan, const char *where, uint32_t row, const char *name,
                                  uint32_t *place, struct oto_error *error)
{
    char all[256] = "";
    size_t used = 0;
    for (*place = 0; *place < plan->n; (*place)++) {
        const char *state = plan->model->states[*place].name;
        if (strcmp(state, name) == 0) {
            return OTO_OK;
        }
        const int written = snprintf(all + used, sizeof all - used, "%s%s", used > 0 ? " " : "", state);
        used += written > 0 && (size_t)written < sizeof all - used ? (size_t)written : 0;
    }
    return oto_fail(error, OTO_NOT_FOUND, "%s[%u]: model '%s' has no state '%s'; it has %s", where, row,
                    plan->model->name, name, all);
}

/* The next name of a list separated by blanks or commas; false at its end. */
static bool next_name(const char **at, char *name, size_t bytes)
{
    static const char separators[] = " ,;\t";
    *at += strspn(*at, separators);
    const size_t length = strcspn(*at, separators);
    if (length == 0) {
        return false;
    }
    const size_t kept = length < bytes ? length : bytes - 1;
    memcpy(name, *at, kept);
    name[kept] = '\0';
    *at += length;
    return true;
}

static enum oto_status want_number(const struct oto_input_binding *input, const char *where, uint32_t row,
                                   const char *name, struct num_number *number, struct oto_error *error)
{
    if (num_number_find(input->type, name, number)) {
        return OTO_OK;
    }
    return oto_fail(error, OTO_NOT_FOUND, "%s[%u]: input '%s' (%s) has no numeric field '%s'", where, row, input->name,
                    input->topic != NULL ? input->topic : "", name);
}

/* ---- model ---- */

/* The constants of a model. The rigid body with 6 degrees of freedom has no forces and no gravity. */
static const void *constants_of(const struct ekf_params *params, struct ekf_prepared *prepared,
                                const struct num_model *model)
{
    prepared->estimator = params->estimator;
    prepared->bicycle = params->bicycle;
    prepared->tyre = params->tyre;
    prepared->body = (struct num_body_constants){.mass_kg = 1.0, .step_s = params->step_s};
    memcpy(prepared->body.inertia_kg_m2, params->inertia_kg_m2, sizeof params->inertia_kg_m2);
    return model == &num_model_rigid_body_6dof       ? (const void *)&prepared->body
           : model == &num_model_linear_tyre         ? (const void *)&prepared->tyre
           : model == &num_model_kinematic_bicycle   ? (const void *)&prepared->bicycle
           : model == &num_model_parameter_estimator ? (const void *)&prepared->estimator
                                                     : NULL;
}

/* The angle between the path of the kinematic bicycle's centre of gravity and its heading. */
static double slip_of(const struct ekf_params *params, const struct num_model *model)
{
    const struct num_bicycle_constants *b = &params->bicycle;
    double s, c;
    if (model != &num_model_kinematic_bicycle) {
        return 0.0;
    }
    oto_sincos(b->steering_rad, &s, &c);
    return oto_atan2(b->rear_m * s, (b->front_m + b->rear_m) * c);
}

static bool is_angle(const struct oto_model_quantity *state)
{
    return strcmp(state->unit, "rad") == 0 && strcmp(state->name, "delta") != 0;
}

static void plan_model(const struct ekf_params *params, struct ekf_prepared *prepared)
{
    struct ekf_plan *plan = &prepared->plan;
    plan->model = num_models[params->model];
    plan->constants = constants_of(params, prepared, plan->model);
    plan->n = num_model_size(plan->model, plan->constants);
    ekf_view_make(plan->model, plan->n, slip_of(params, plan->model), &plan->view);
    plan->model_hash = oto_fnv1a64_more(oto_fnv1a64_text(OTO_FNV1A64_START, plan->model->name), &plan->n, sizeof plan->n);
    plan->max_step_s = params->max_step_s;
    plan->late_limit_s = params->late_limit_s;
    for (uint32_t i = 0; i < plan->n; i++) {
        plan->angles[i] = is_angle(&plan->model->states[i]);
        plan->initial_sigma[i] = 1.0;
        plan->initial[i] = i == plan->view.qw ? 1.0 : 0.0;
    }
}

static enum oto_status plan_initial(const struct ekf_params *params, struct ekf_plan *plan, struct oto_error *error)
{
    double checked[OTO_MODEL_MAX_STATES];
    for (uint32_t i = 0; i < params->initial_count; i++) {
        uint32_t place;
        const enum oto_status status = find_state(plan, "initial", i, params->initial[i].state, &place, error);
        if (status != OTO_OK) {
            return status;
        }
        plan->initial[place] = params->initial[i].value;
        plan->initial_sigma[place] = params->initial[i].sigma;
    }
    return num_model_reset(plan->model, plan->constants, plan->initial, checked, error);
}

static enum oto_status plan_noise(const struct ekf_params *params, struct ekf_plan *plan, struct oto_error *error)
{
    plan->noise_count = (uint32_t)params->noise_count;
    for (uint32_t i = 0; i < params->noise_count; i++) {
        const struct ekf_noise *from = &params->noise[i];
        struct ekf_plan_noise *to = &plan->noises[i];
        const bool paired = from->kind == EKF_WHITE_ACCELERATION;
        *to = (struct ekf_plan_noise){.rate = EKF_ABSENT, .q = from->q};
        if (paired != (from->rate[0] != '\0')) {
            return oto_fail(error, OTO_INVALID, "process_noise[%u]: %s", i,
                            paired ? "white_acceleration needs `rate`, the state that is the rate of `state`"
                                   : "`rate` belongs to kind white_acceleration; a random_walk has none");
        }
        enum oto_status status = find_state(plan, "process_noise", i, from->state, &to->state, error);
        if (status == OTO_OK && paired) {
            status = find_state(plan, "process_noise", i, from->rate, &to->rate, error);
        }
        if (status != OTO_OK) {
            return status;
        }
    }
    return OTO_OK;
}

/* ---- measurements ---- */

static enum oto_status check_needs(const struct ekf_plan *plan, const struct ekf_function *function, uint32_t row,
                                   struct oto_error *error)
{
    static const struct {
        uint32_t need;
        const char *what;
    } needs[] = {
        {EKF_POSITION, "a position x, y"},  {EKF_ALTITUDE, "an altitude z"},
        {EKF_HEADING, "a heading or a velocity"}, {EKF_ATTITUDE, "roll, pitch and yaw, or a quaternion"},
        {EKF_VELOCITY, "a velocity"},       {EKF_YAW_RATE, "a yaw rate"},
        {EKF_BODY_RATE, "rates about three axes"}, {EKF_ACCELERATION, "an acceleration and a velocity"},
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        if ((function->needs & needs[i].need) != 0 && (plan->view.needs & needs[i].need) == 0) {
            return oto_fail(error, OTO_INVALID, "measurements[%u]: function '%s' needs a model with %s; '%s' has none", row,
                            function->name, needs[i].what, plan->model->name);
        }
    }
    return OTO_OK;
}

static enum oto_status plan_fields(const struct ekf_measurement *from, uint32_t row, const struct ekf_function *function,
                                   const struct oto_input_binding *input, struct ekf_sensor *sensor,
                                   struct ekf_source *source, struct oto_error *error)
{
    char name[OTO_FIELD_NAME_BYTES + 8];
    const char *at = from->fields;
    enum oto_status status = OTO_OK;
    sensor->field_count = 0;
    while (status == OTO_OK && next_name(&at, name, sizeof name)) {
        if (sensor->field_count == function->most_fields) {
            return oto_fail(error, OTO_INVALID, "measurements[%u]: function '%s' has at most %u fields, in `fields` are more",
                            row, function->name, function->most_fields);
        }
        status = want_number(input, "measurements", row, name, &source->fields[sensor->field_count++], error);
    }
    for (uint32_t i = 0; status == OTO_OK && from->fields[0] == '\0' && function->fields != NULL && i < function->most_fields; i++) {
        status = want_number(input, "measurements", row, function->fields[i], &source->fields[sensor->field_count++], error);
    }
    if (status == OTO_OK && sensor->field_count < function->least_fields) {
        return oto_fail(error, OTO_INVALID, "measurements[%u]: function '%s' needs `fields` with %u to %u names, blanks "
                        "between them; there are %u", row, function->name, function->least_fields, function->most_fields,
                        sensor->field_count);
    }
    return status;
}

static enum oto_status plan_linear(const struct ekf_measurement *from, uint32_t row, const struct ekf_plan *plan,
                                   struct ekf_sensor *sensor, struct oto_error *error)
{
    char name[EKF_NAME];
    const char *at = from->states;
    uint32_t count = 0;
    while (next_name(&at, name, sizeof name)) {
        uint32_t place;
        const enum oto_status status = find_state(plan, "measurements", row, name, &place, error);
        if (status != OTO_OK) {
            return status;
        }
        if (count < sensor->field_count) {
            sensor->states[count] = place;
            sensor->wraps[count] = plan->angles[place];
        }
        count++;
    }
    return count == sensor->field_count
               ? OTO_OK
               : oto_fail(error, OTO_INVALID, "measurements[%u]: there are %u `fields` and %u `states`; function 'linear' "
                          "has as many states as fields", row, sensor->field_count, count);
}

static void plan_mount(const struct ekf_measurement *from, const struct oto_input_binding *input,
                       struct ekf_sensor *sensor)
{
    const double *rpy = from->mount_rpy_deg, *lever = from->mount_position_m;
    sensor->q_body_from_sensor =
        rpy[0] == EKF_MOUNT_OF_CHANNEL
            ? input->q_body_from_sensor
            : oto_quat_from_rpy(rpy[0] * OTO_DEG, rpy[1] * OTO_DEG, rpy[2] * OTO_DEG);
    sensor->mount_position_body_m =
        lever[0] == EKF_MOUNT_OF_CHANNEL ? input->mount_position_body_m : oto_vec3_from_array(lever);
}

/* Makes the noise covariance of the rows in use from sigma and correlation. */
static enum oto_status plan_covariance(const struct ekf_measurement *from, uint32_t row, struct ekf_row *to,
                                       struct oto_error *error)
{
    const double *c = from->correlation, *s = from->sigma;
    const double full[3][3] = {{1, c[0], c[1]}, {c[0], 1, c[2]}, {c[1], c[2], 1}};
    uint32_t axes[3], count = 0;
    for (uint32_t i = 0; i < 3; i++) {
        if ((to->sensor.components >> i & 1u) != 0) {
            axes[count++] = i;
        }
    }
    for (uint32_t i = 0; i < to->sensor.m; i++) {
        if (!(s[axes[i]] > 0.0)) {
            return oto_fail(error, OTO_INVALID, "measurements[%u]: sigma[%u] is %g; a number above 0 is accepted", row,
                            axes[i], s[axes[i]]);
        }
        for (uint32_t k = 0; k < to->sensor.m; k++) {
            to->noise[i * to->sensor.m + k] = s[axes[i]] * s[axes[k]] * full[axes[i]][axes[k]];
        }
    }
    return OTO_OK;
}

static enum oto_status plan_components(const struct ekf_measurement *from, uint32_t row,
                                       const struct ekf_function *function, struct ekf_sensor *sensor,
                                       struct oto_error *error)
{
    const uint32_t rows = function->rows != 0 ? function->rows : sensor->field_count, all = (1u << rows) - 1u;
    const uint32_t chosen = (uint32_t)from->components;
    if (chosen != 0 && function->axes == 0) {
        return oto_fail(error, OTO_INVALID, "measurements[%u]: `components` chooses among axes; function '%s' has none", row,
                        function->name);
    }
    sensor->components = chosen != 0 ? chosen : all;
    sensor->m = 0;
    for (uint32_t bits = sensor->components; bits != 0; bits >>= 1) {
        sensor->m += bits & 1u;
    }
    return OTO_OK;
}

static enum oto_status plan_extras(const struct ekf_measurement *from, uint32_t row,
                                   const struct oto_input_binding *input, struct ekf_source *source,
                                   struct oto_error *error)
{
    enum oto_status status = OTO_OK;
    source->optional = from->optional != 0;
    source->has_covariance = from->covariance_field[0] != '\0';
    source->has_age = from->age_field[0] != '\0';
    if (source->has_covariance) {
        status = want_number(input, "measurements", row, from->covariance_field, &source->covariance, error);
    }
    if (status == OTO_OK && source->has_covariance && source->covariance.field.count != 9) {
        return oto_fail(error, OTO_INVALID, "measurements[%u]: covariance_field '%s' has %u numbers; 9 are accepted", row,
                        from->covariance_field, source->covariance.field.count);
    }
    if (status == OTO_OK && source->has_age) {
        status = want_number(input, "measurements", row, from->age_field, &source->age, error);
    }
    return status;
}

static enum oto_status plan_row(const struct oto_setup *setup, const struct ekf_params *params, uint32_t row,
                                struct ekf_prepared *prepared, struct oto_error *error)
{
    const struct ekf_measurement *from = &params->rows[row];
    const struct ekf_function *function = &ekf_functions[from->function];
    struct ekf_source *source = &prepared->sources[row];
    struct ekf_row *to = &prepared->plan.rows[row];
    source->input = UINT32_MAX;
    const struct oto_input_binding *input = oto_input_find(setup, from->input, &source->input);
    if (input == NULL) {
        source->input = UINT32_MAX;
        return from->optional != 0 ? OTO_OK
                                   : oto_fail(error, OTO_NOT_FOUND, "measurements[%u]: no channel is bound to the input "
                                              "'%s'; bind one, or say `optional: true`", row, from->input);
    }
    to->initialise = from->initialise;
    to->sensor = (struct ekf_sensor){.function = (uint32_t)from->function, .scale = from->scale,
                                     .sensor_position_enu_m = oto_vec3_from_array(from->sensor_position_enu_m),
                                     .gravity_m_s2 = oto_vec3_norm(setup->gravity_enu_m_s2)};
    plan_mount(from, input, &to->sensor);
    const oto_vec3 field = setup->mag_field_enu_ut;
    if (from->function == EKF_MAGNETIC_HEADING && !(oto_hypot(field.x, field.y) > 0.0)) {
        return oto_fail(error, OTO_INVALID, "measurements[%u]: function 'magnetic_heading' needs the world's magnetic field, "
                        "which is not known here", row);
    }
    to->sensor.field_azimuth_rad = oto_atan2(field.y, field.x);
    enum oto_status status = check_needs(&prepared->plan, function, row, error);
    if (status == OTO_OK) {
        status = plan_fields(from, row, function, input, &to->sensor, source, error);
    }
    if (status == OTO_OK && from->function == EKF_LINEAR) {
        status = plan_linear(from, row, &prepared->plan, &to->sensor, error);
    }
    if (status == OTO_OK && from->function == EKF_POSITION_FIX && to->sensor.field_count == 3 &&
        prepared->plan.view.z == EKF_ABSENT) {
        to->sensor.field_count = 2; /* a fix has an altitude, a planar model has none */
    }
    if (status == OTO_OK) {
        status = plan_components(from, row, function, &to->sensor, error);
    }
    if (status == OTO_OK) {
        status = plan_covariance(from, row, to, error);
    }
    to->gate = from->gate > 0.0 ? num_chi2_quantile(from->gate, to->sensor.m) : 0.0;
    return status == OTO_OK ? plan_extras(from, row, input, source, error) : status;
}

/* ---- truth ---- */

static const char *const truth_names[EKF_TRUTH_NUMBERS] = {
    "position_enu_m.x", "position_enu_m.y", "position_enu_m.z", "velocity_enu_m_s.x", "velocity_enu_m_s.y",
    "velocity_enu_m_s.z", "accel_enu_m_s2.x", "accel_enu_m_s2.y", "accel_enu_m_s2.z", "q_enu_from_body.w",
    "q_enu_from_body.x", "q_enu_from_body.y", "q_enu_from_body.z", "angular_rate_body_rad_s.x",
    "angular_rate_body_rad_s.y", "angular_rate_body_rad_s.z", "angular_accel_body_rad_s2.x",
    "angular_accel_body_rad_s2.y", "angular_accel_body_rad_s2.z", "longitudinal_speed_m_s"};

static enum oto_status plan_truth(const struct oto_setup *setup, const struct ekf_params *params,
                                  struct ekf_prepared *prepared, struct oto_error *error)
{
    struct ekf_plan *plan = &prepared->plan;
    const struct oto_input_binding *input = oto_input_find(setup, "truth", &prepared->truth_input);
    enum oto_status status = OTO_OK;
    if (input == NULL) {
        prepared->truth_input = UINT32_MAX;
        return OTO_OK;
    }
    prepared->truth_by_model = params->truth_count == 0;
    plan->truth_count = prepared->truth_by_model ? plan->n : (uint32_t)params->truth_count;
    for (uint32_t i = 0; status == OTO_OK && prepared->truth_by_model && i < EKF_TRUTH_NUMBERS; i++) {
        status = want_number(input, "truth", i, truth_names[i], &prepared->truth_fields[i], error);
    }
    for (uint32_t i = 0; prepared->truth_by_model && i < plan->n; i++) {
        plan->truth_states[i] = i;
    }
    for (uint32_t i = 0; status == OTO_OK && i < params->truth_count; i++) {
        status = find_state(plan, "truth", i, params->truth[i].state, &plan->truth_states[i], error);
        if (status == OTO_OK) {
            status = want_number(input, "truth", i, params->truth[i].field, &prepared->truth_fields[i], error);
        }
    }
    return status;
}

enum oto_status ekf_plan_make(const struct oto_host *host, const struct oto_setup *setup,
                              const struct ekf_params *params, struct ekf_prepared *prepared, struct oto_error *error)
{
    plan_model(params, prepared);
    enum oto_status status = plan_initial(params, &prepared->plan, error);
    if (status == OTO_OK) {
        status = plan_noise(params, &prepared->plan, error);
    }
    prepared->plan.row_count = (uint32_t)params->row_count;
    for (uint32_t row = 0; status == OTO_OK && row < params->row_count; row++) {
        status = plan_row(setup, params, row, prepared, error);
    }
    if (status == OTO_OK && params->row_count == 0) {
        host->warn(host->context, "ekf: there are no `measurements`; nothing will be estimated");
    }
    return status == OTO_OK ? plan_truth(setup, params, prepared, error) : status;
}
