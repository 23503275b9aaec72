#include "ins_plan.h"

#include <stdio.h>

#define EARTH_RADIUS_M 6371000.0
#define OFFSET_SIGMA_M 300.0 /* initial sigma of the barometer's offset: weather changes the height by up to 250 m */

#include "otolith/environment.h"

static const char *const imu_fields[] = {"angular_velocity.x",    "angular_velocity.y",    "angular_velocity.z",
                                         "linear_acceleration.x", "linear_acceleration.y", "linear_acceleration.z", NULL};
static const char *const mag_fields[] = {"magnetic_field.x", "magnetic_field.y", "magnetic_field.z", NULL};
static const char *const fix_fields[] = {"position_enu_m.x", "position_enu_m.y", "position_enu_m.z", NULL};
static const char *const gnss_fields[] = {"status.status", "latitude", "longitude", "altitude", NULL};
static const char *const gnss_numbers[] = {"status.status",         "latitude",              "longitude",
                                           "altitude",              "position_covariance.0", "position_covariance.4",
                                           "position_covariance.8", NULL};
static const char *const gnss_velocity[] = {"velocity.x",            "velocity.y",            "velocity.z",
                                            "velocity_covariance.0", "velocity_covariance.4", "velocity_covariance.8"};
static const char *const pressure_fields[] = {"fluid_pressure", NULL};
static const char *const truth_fields[] = {
    "position_enu_m.x",   "position_enu_m.y",   "position_enu_m.z",  "velocity_enu_m_s.x", "velocity_enu_m_s.y",
    "velocity_enu_m_s.z", "q_enu_from_body.w", "q_enu_from_body.x", "q_enu_from_body.y",  "q_enu_from_body.z", NULL};

const struct oto_input_port ins_inputs[INS_INPUTS] = {
    [INS_IMU] = {"imu", "accelerometer and gyroscope", imu_fields, OTO_INPUT_OPTIONAL, 0},
    [INS_ODOMETER] = {"odometer", "speed along body x", NULL, OTO_INPUT_OPTIONAL, 0},
    [INS_MAGNETOMETER] = {"magnetometer", "magnetic field", mag_fields, OTO_INPUT_OPTIONAL, 0},
    [INS_POSITION] = {"position", "position fixes", fix_fields, OTO_INPUT_OPTIONAL, 0},
    [INS_GNSS] = {"gnss", "satellite fixes", gnss_fields, OTO_INPUT_OPTIONAL, 0},
    [INS_BAROMETER] = {"barometer", "air pressure", pressure_fields, OTO_INPUT_OPTIONAL, 0},
    [INS_TRUTH] = {"truth", "what the estimate is compared with", truth_fields, OTO_INPUT_OPTIONAL, 0},
};

static enum oto_status plan_source(const struct oto_setup *setup, const struct ins_params *params, uint32_t kind,
                                   struct ins_prepared *prepared, struct oto_error *error)
{
    uint32_t index;
    const struct oto_input_binding *input = oto_input_find(setup, ins_inputs[kind].name, &index);
    const char *const odometer_fields[] = {params->odometer_field, NULL};
    const char *const *names = kind == INS_ODOMETER ? odometer_fields
                               : kind == INS_GNSS   ? gnss_numbers
                                                    : ins_inputs[kind].fields;
    struct ins_source *source = &prepared->sources[kind];
    if (input == NULL) {
        return OTO_OK;
    }
    source->bound = true;
    source->has_age = (kind == INS_ODOMETER || kind == INS_GNSS) && num_number_find(input->type, "age_ns", &source->age);
    source->has_mode = kind == INS_GNSS && num_number_find(input->type, "mode", &source->mode);
    source->has_velocity = kind == INS_GNSS;
    for (uint32_t i = 0; i < 6 && source->has_velocity; i++) {
        source->has_velocity = num_number_find(input->type, gnss_velocity[i], &source->velocity[i]);
    }
    prepared->kinds[index] = kind;
    for (uint32_t i = 0; names[i] != NULL; i++) {
        if (!num_number_find(input->type, names[i], &source->numbers[i])) {
            return oto_fail(error, OTO_NOT_FOUND, "ins_ekf: input '%s' (%s) has no numeric field '%s'", input->name,
                            input->topic != NULL ? input->topic : "", names[i]);
        }
    }
    return OTO_OK;
}

/* Position of an aid relative to the IMU: that of the parameter, or the mount position of the channel's sensor. */
static oto_vec3 place_of(const struct oto_setup *setup, const double *given, const char *input,
                         const struct ins_plan *plan)
{
    uint32_t index;
    const struct oto_input_binding *binding = oto_input_find(setup, input, &index);
    const oto_vec3 channel = binding != NULL ? binding->mount_position_body_m : oto_vec3_zero();
    return oto_vec3_sub(given[0] == INS_OF_CHANNEL ? channel : oto_vec3_from_array(given), plan->imu_body_m);
}

static enum oto_status plan_triad(const struct oto_host *host, const struct ins_triad_params *from, int64_t psd,
                                  const char *name, struct ins_triad *to, struct oto_error *error)
{
    const double density = from->noise_density_u_rthz;
    char sentence[160];
    to->noise_psd = density * density * (psd == INS_PSD_SINGLE ? 0.5 : 1.0);
    to->bias_u = oto_vec3_from_array(from->bias_u);
    to->bias_sigma_u = from->bias_sigma_u;
    to->bias_rate_1_s = from->bias_tau_s > 0.0 ? 1.0 / from->bias_tau_s : 0.0;
    to->bias_psd = from->bias_tau_s > 0.0 ? 2.0 * from->bias_sigma_u * from->bias_sigma_u / from->bias_tau_s
                                          : from->bias_walk_u_rts * from->bias_walk_u_rts;
    if (from->bias_tau_s > 0.0 && from->bias_sigma_u == 0.0) {
        return oto_fail(error, OTO_INVALID, "%s.bias_tau_s is %g, but bias_sigma is 0: a Gauss-Markov bias needs its "
                        "standard deviation", name, from->bias_tau_s);
    }
    if (from->bias_sigma_u == 0.0 && from->bias_walk_u_rts == 0.0) {
        (void)snprintf(sentence, sizeof sentence, "ins_ekf: the %s's bias has no sigma and no walk; it will not be estimated",
                       name);
        host->warn(host->context, sentence);
    }
    return OTO_OK;
}

static enum oto_status plan_field(const struct oto_setup *setup, const struct ins_params *params, struct ins_plan *plan,
                                  struct oto_error *error)
{
    const double declination = params->magnetometer_declination_deg;
    const oto_vec3 field = setup->mag_field_enu_ut;
    const double level = oto_hypot(field.x, field.y);
    plan->mag_magnitude_t = oto_vec3_norm(field) * 1e-6;
    plan->mag_field_enu = field;
    if (declination != INS_OF_WORLD) {
        double s, c;
        oto_sincos(declination * OTO_DEG, &s, &c);
        plan->mag_field_enu = oto_vec3_make(s, c, 0.0);
    } else if (plan->has_magnetometer && !(level > 0.0)) {
        return oto_fail(error, OTO_INVALID, "magnetometer.declination_deg: the field at the origin is not known here; give "
                        "the declination in degrees");
    }
    if (params->heading == INS_HEADING_MAGNETOMETER && params->align == INS_ALIGN_REST && !plan->has_magnetometer) {
        return oto_fail(error, OTO_INVALID, "align.heading is magnetometer, but no channel is bound to the input "
                        "'magnetometer'");
    }
    return OTO_OK;
}

static void set_aids(struct ins_plan *plan, uint32_t place, uint32_t count, double sigma, double tau_s)
{
    const double rate_1_s = tau_s > 0.0 ? 1.0 / tau_s : 0.0;
    for (uint32_t i = place; i < place + count; i++) {
        plan->aids[i - INS_AID] = (struct ins_aid_error){sigma, 2.0 * sigma * sigma * rate_1_s, rate_1_s};
    }
}

/* Sets the errors of the aids. Errors of aids that are not bound or not used have zero variance. */
static void plan_aids(struct ins_plan *plan, bool has_barometer)
{
    const struct ins_params *p = &plan->params;
    const double *compliance = p->nonholonomic_compliance_sigma_deg_s2_m;
    const double odometer = plan->has_odometer ? 1.0 : 0.0, gnss = plan->has_gnss ? 1.0 : 0.0;
    const double constraint = p->nonholonomic_rate_hz > 0.0 ? OTO_DEG : 0.0, air = has_barometer ? 1.0 : 0.0;
    set_aids(plan, INS_SCALE, 1, p->odometer_scale_sigma, 0.0);
    set_aids(plan, INS_FIX, 3, gnss, p->gnss_tau_s);
    set_aids(plan, INS_FIX_SPEED, 3, gnss, p->gnss_velocity_tau_s);
    set_aids(plan, INS_COLOURED, 1, odometer * p->odometer_coloured_sigma_m_s, p->odometer_coloured_tau_s);
    set_aids(plan, INS_SLIP, 2, odometer * 0.01 * p->odometer_slip_sigma_percent_m_s2, 0.0);
    for (uint32_t i = 0; i < 2; i++) { /* the angle is that at which the accelerometer reads 0: with compliance · bias */
        const double by_bias_deg = compliance[i] * p->accelerometer.bias_sigma_u;
        set_aids(plan, INS_ANGLE + i, 1, constraint * oto_hypot(p->nonholonomic_angle_sigma_deg, by_bias_deg), 0.0);
        set_aids(plan, INS_COMPLIANCE + i, 1, constraint * compliance[i], 0.0);
    }
    set_aids(plan, INS_HEADING, 1, (plan->has_magnetometer ? OTO_DEG : 0.0) * p->magnetometer_coloured_sigma_deg,
             p->magnetometer_coloured_tau_s);
    set_aids(plan, INS_OFFSET, 1, air * OFFSET_SIGMA_M, 0.0);
    plan->aids[INS_OFFSET - INS_AID].psd = air * p->barometer_walk_m_rts * p->barometer_walk_m_rts;
    set_aids(plan, INS_FLOW, 1, air * p->barometer_flow_sigma, 0.0);
}

/* Standard air at the origin: ICAO Doc 7488, troposphere. */
static void plan_air(struct ins_plan *plan)
{
    const double lapse_k_m = 0.0065, exponent = OTO_STANDARD_GRAVITY_M_S2 / (287.05287 * lapse_k_m);
    plan->air_temperature_k = 288.15 - lapse_k_m * plan->origin.alt_m;
    plan->air_pressure_pa = 101325.0 * oto_exp(exponent * oto_log(plan->air_temperature_k / 288.15));
}

static double gate_of(double probability, uint32_t rows)
{
    return probability > 0.0 ? num_chi2_quantile(probability, rows) : 0.0;
}

static void plan_mounts(const struct oto_setup *setup, const struct ins_params *params, struct ins_prepared *prepared)
{
    struct ins_plan *plan = &prepared->plan;
    uint32_t index;
    const struct oto_input_binding *imu = oto_input_find(setup, "imu", &index);
    const struct oto_input_binding *mag = oto_input_find(setup, "magnetometer", &index);
    const struct oto_input_binding *baro = oto_input_find(setup, "barometer", &index);
    plan->q_body_from_sensor = imu != NULL ? imu->q_body_from_sensor : oto_quat_identity();
    plan->imu_body_m = imu != NULL ? imu->mount_position_body_m : oto_vec3_zero();
    plan->imu_rate_hz = imu != NULL && imu->rate_hz > 0.0 ? imu->rate_hz : 100.0;
    plan->body_from_sensor = oto_mat3_from_quat(plan->q_body_from_sensor);
    plan->odometer_body_m = place_of(setup, params->odometer_position_m, "odometer", plan);
    plan->fix_body_m = place_of(setup, params->position_fix_m, "position", plan);
    plan->antenna_body_m = place_of(setup, params->gnss_position_m, "gnss", plan);
    plan->barometer_body_m = oto_vec3_sub(baro != NULL ? baro->mount_position_body_m : oto_vec3_zero(), plan->imu_body_m);
    plan->nonholonomic_body_m = oto_vec3_sub(oto_vec3_from_array(params->nonholonomic_position_m), plan->imu_body_m);
    prepared->q_body_from_magnetometer = mag != NULL ? mag->q_body_from_sensor : oto_quat_identity();
}

enum oto_status ins_plan_make(const struct oto_host *host, const struct oto_setup *setup,
                              const struct ins_params *params, struct ins_prepared *prepared, struct oto_error *error)
{
    struct ins_plan *plan = &prepared->plan;
    enum oto_status status = OTO_OK;
    for (uint32_t kind = 0; status == OTO_OK && kind < INS_INPUTS; kind++) {
        status = plan_source(setup, params, kind, prepared, error);
    }
    plan->params = *params;
    plan->has_odometer = prepared->sources[INS_ODOMETER].bound;
    plan->has_magnetometer = prepared->sources[INS_MAGNETOMETER].bound;
    plan->has_gnss = prepared->sources[INS_GNSS].bound;
    plan->origin = (oto_geodetic){setup->origin_latitude_rad, setup->origin_longitude_rad, setup->origin_altitude_m};
    plan_air(plan);
    plan->gravity_enu_m_s2 = setup->gravity_enu_m_s2;
    plan->gravity_change_1_s2 = params->gravity_turns != 0 ? oto_vec3_norm(setup->gravity_enu_m_s2) / EARTH_RADIUS_M : 0.0;
    if (params->earth_rate != 0) {
        plan->earth_rate_enu_rad_s = oto_earth_rate_enu_rad_s(setup->origin_latitude_rad);
    }
    plan_mounts(setup, params, prepared);
    plan->odometer_gate = gate_of(params->odometer_gate, 1);
    plan->nonholonomic_gate = gate_of(params->nonholonomic_gate, 2);
    plan->magnetometer_gate = gate_of(params->magnetometer_gate, 1);
    plan->position_gate = gate_of(params->position_fix_gate, 3);
    plan->gnss_gate = gate_of(params->gnss_gate, 3);
    plan->barometer_gate = gate_of(params->barometer_gate, 1);
    plan->still_gate = gate_of(params->still_gate, 3);
    plan_aids(plan, prepared->sources[INS_BAROMETER].bound);
    if (!prepared->sources[INS_IMU].bound) {
        host->warn(host->context, "ins_ekf: no channel is bound to the input 'imu'; nothing will be estimated");
    }
    if (status == OTO_OK) {
        status = plan_triad(host, &params->gyroscope, params->psd, "gyroscope", &plan->gyroscope, error);
    }
    if (status == OTO_OK) {
        status = plan_triad(host, &params->accelerometer, params->psd, "accelerometer", &plan->accelerometer, error);
    }
    return status == OTO_OK ? plan_field(setup, params, plan, error) : status;
}
