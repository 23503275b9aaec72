#include "ins_report.h"

#include <string.h>

#include "otolith/hash.h"

#define TRIAD(name, unit, frame, text) \
    {name ".x", unit, frame, text}, {name ".y", unit, frame, text}, {name ".z", unit, frame, text}

const struct oto_model_quantity ins_state_quantities[INS_STATES] = {
    TRIAD("position_enu_m", "m", "enu", "place of the IMU; errors are the body origin's"),
    TRIAD("velocity_enu_m_s", "m/s", "enu", "velocity of the IMU; errors are the body origin's"),
    TRIAD("attitude_body_rad", "rad", "body", "roll, pitch, yaw; sigma and errors are turns about the body's axes"),
    TRIAD("gyro_bias_sensor_rad_s", "rad/s", "sensor", "bias of the gyroscope"),
    TRIAD("accel_bias_sensor_m_s2", "m/s2", "sensor", "bias of the accelerometer"),
    {"speed_scale", "1", "", "what the odometer reads over the speed"},
    TRIAD("fix_error", "1", "enu", "correlated error of satellite fixes, in its standard deviations"),
    TRIAD("fix_velocity_error", "1", "enu", "correlated error of the receiver's velocity, in its standard deviations"),
    {"odometer_error_m_s", "m/s", "body", "correlated error of the odometer"},
    {"slip_drive_s2_m", "s2/m", "body", "slip of the odometer's wheels with specific force, driving"},
    {"slip_brake_s2_m", "s2/m", "body", "slip of the odometer's wheels with specific force, braking"},
    {"path_angle_rad.y", "rad", "body", "of the path to the left of body x, without specific force"},
    {"path_angle_rad.z", "rad", "body", "of the path above body x, without specific force"},
    {"compliance_rad_s2_m.y", "rad.s2/m", "body", "side slip with specific force to the left"},
    {"compliance_rad_s2_m.z", "rad.s2/m", "body", "pitch on the springs with specific force ahead"},
    {"barometer_offset_m", "m", "", "offset of the barometer's height"},
    {"barometer_flow", "1", "", "share of the dynamic pressure that the barometer reads"},
    {"heading_error_rad", "rad", "enu", "correlated error of the magnetometer's heading"},
};

static const struct oto_field nees_fields[] = {
    OTO_FIELD_(struct ins_nees_record, part[INS_PART_POSITION], "position", OTO_FIELD_F64, 1, "1", "", "of 3 degrees; -1: no truth yet"),
    OTO_FIELD_(struct ins_nees_record, part[INS_PART_VELOCITY], "velocity", OTO_FIELD_F64, 1, "1", "", "of 3 degrees; -1: no truth yet"),
    OTO_FIELD_(struct ins_nees_record, part[INS_PART_ATTITUDE], "attitude", OTO_FIELD_F64, 1, "1", "", "of 3 degrees; -1: no truth yet"),
    OTO_FIELD_(struct ins_nees_record, all, "all", OTO_FIELD_F64, 1, "1", "", "of 9 degrees; -1: no truth yet"),
};
const struct oto_record_type ins_nees_type = {"ins_nees", sizeof(struct ins_nees_record),
                                              sizeof nees_fields / sizeof *nees_fields, nees_fields};

void ins_report_nees(const struct ins_state *state, struct ins_nees_record *record)
{
    for (uint32_t i = 0; i < INS_PARTS; i++) {
        record->part[i] = state->part_nees[i];
    }
    record->all = state->truths.nees;
}

static oto_vec3 sigmas(const struct ins_state *state, uint32_t place)
{
    double sigma[3];
    for (uint32_t i = 0; i < 3; i++) {
        sigma[i] = num_sigma(state->p[(place + i) * (INS_STATES + 1)]);
    }
    return oto_vec3_from_array(sigma);
}

/* Converts the rows of the velocity error from body axes to ENU: R̂ (δu − [û]× δθ). */
static void turn_to_enu(oto_quat q_enu_from_body, oto_vec3 velocity_enu_m_s, double *j)
{
    const oto_mat3 r = oto_mat3_from_quat(q_enu_from_body);
    double rows[3 * INS_STATES];
    memcpy(rows, j, sizeof rows);
    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t k = 0; k < INS_STATES; k++) {
            j[i * INS_STATES + k] = r.m[i][0] * rows[k] + r.m[i][1] * rows[INS_STATES + k] + r.m[i][2] * rows[2 * INS_STATES + k];
        }
    }
    ins_put(j, 0, INS_THETA, oto_mat3_scale(oto_mat3_mul(oto_mat3_skew(velocity_enu_m_s), r), -1.0));
}

void ins_report_estimate(const struct ins_plan *plan, const struct ins_state *state, int64_t t_ns,
                         struct oto_estimate_record *record)
{
    double j[9 * INS_STATES], sigma[6];
    const oto_quat q = state->nav.q_enu_from_body;
    const oto_vec3 rate = ins_rate_body(plan, state);
    const double ahead_s = state->running != 0 && t_ns > state->time_ns ? (double)(t_ns - state->time_ns) / 1e9 : 0.0;
    record->velocity_enu_m_s =
        oto_vec3_sub(state->nav.velocity_enu_m_s, oto_quat_rotate(q, oto_vec3_cross(rate, plan->imu_body_m)));
    ins_body_error_jacobian(plan, state, j);
    turn_to_enu(q, record->velocity_enu_m_s, j + 3 * INS_STATES);
    const oto_mat3 r = oto_mat3_from_quat(q);
    const oto_mat3 turn_noise = oto_mat3_mul(oto_mat3_mul(r, ins_turn_noise(plan, plan->imu_body_m)), oto_mat3_transpose(r));
    for (uint32_t i = 0; i < 6; i++) {
        const double by_rate = i < 3 ? 0.0 : turn_noise.m[i - 3][i - 3];
        sigma[i] = num_sigma(num_matrix_quadratic(INS_STATES, j + i * INS_STATES, state->p) + by_rate);
    }
    record->position_enu_m = oto_vec3_add_scaled(
        oto_vec3_sub(state->nav.position_enu_m, oto_quat_rotate(q, plan->imu_body_m)), record->velocity_enu_m_s, ahead_s);
    record->q_enu_from_body =
        oto_quat_normalize(oto_quat_mul(q, oto_quat_from_rotvec(oto_vec3_scale(rate, ahead_s))));
    record->angular_rate_body_rad_s = rate;
    record->gyro_bias_sensor_rad_s = state->gyro_bias;
    record->accel_bias_sensor_m_s2 = state->accel_bias;
    record->speed_scale = ins_aid(state, INS_SCALE);
    record->position_sigma_enu_m = oto_vec3_from_array(sigma);
    record->velocity_sigma_enu_m_s = oto_vec3_from_array(sigma + 3);
    record->attitude_sigma_body_rad = sigmas(state, INS_THETA);
    record->gyro_bias_sigma_sensor_rad_s = sigmas(state, INS_BG);
    record->accel_bias_sigma_sensor_m_s2 = sigmas(state, INS_BA);
    const double noise = plan->gyroscope.noise_psd * plan->imu_rate_hz;
    const oto_vec3 bias = record->gyro_bias_sigma_sensor_rad_s;
    record->angular_rate_sigma_body_rad_s =
        oto_vec3_make(num_sigma(bias.x * bias.x + noise), num_sigma(bias.y * bias.y + noise), num_sigma(bias.z * bias.z + noise));
    record->speed_scale_sigma =
        plan->params.odometer_scale_sigma > 0.0 ? num_sigma(state->p[INS_SCALE * (INS_STATES + 1)]) : -1.0;
    record->nis = state->nis;
    record->nis_degrees = state->nis_rows;
    record->nees = state->truths.nees;
    record->nees_degrees = 9.0;
    record->status = state->running != 0 ? OTO_ESTIMATE_RUNNING : OTO_ESTIMATE_ALIGNING;
    num_filter_sum(state->rows, INS_ROWS, record);
    record->age_ns = state->running != 0 ? t_ns - state->used_ns : 0;
}

void ins_report_state(const struct ins_state *state, struct num_filter_state_record *record)
{
    double j[3 * INS_STATES] = {0};
    oto_vec3_to_array(state->nav.position_enu_m, record->state + INS_P);
    oto_vec3_to_array(state->nav.velocity_enu_m_s, record->state + INS_U);
    oto_vec3_to_array(oto_rpy_from_quat(state->nav.q_enu_from_body), record->state + INS_THETA);
    oto_vec3_to_array(state->gyro_bias, record->state + INS_BG);
    oto_vec3_to_array(state->accel_bias, record->state + INS_BA);
    memcpy(record->state + INS_AID, state->aids, sizeof state->aids);
    for (uint32_t i = 0; i < INS_STATES; i++) {
        record->sigma[i] = num_sigma(state->p[i * (INS_STATES + 1)]);
    }
    ins_put(j, 0, INS_U, oto_mat3_identity());
    turn_to_enu(state->nav.q_enu_from_body, state->nav.velocity_enu_m_s, j);
    for (uint32_t i = 0; i < 3; i++) {
        record->sigma[INS_U + i] = num_sigma(num_matrix_quadratic(INS_STATES, j + i * INS_STATES, state->p));
    }
    num_filter_report_truths(&state->truths, INS_STATES, record);
    record->size = INS_STATES;
    record->model_hash = oto_fnv1a64_text(OTO_FNV1A64_START, "ins_ekf");
}
