#include "gnss_model.h"

#include <string.h>

#include "num_draws.h"
#include "otolith/detmath.h"

#define MOST_AGE_NS 1000000000.0 /* the host provides inputs of this age at most */
#define NS_PER_S 1e9
#define DEG_PER_RAD (180.0 / OTO_PI)
#define NEVER_NS INT64_MIN

enum { DRIVES = GNSS_FIX_MODES * GNSS_PROCESSES, WHITE = DRIVES, JITTER = WHITE + GNSS_PROCESSES };

static int64_t ns_of(double seconds)
{
    return (int64_t)oto_round_half_away(seconds * NS_PER_S);
}

/* ---- preparing ---- */

static void prepare_mode(const struct gnss_mode_params *from, double rate_hz, struct gnss_mode *to)
{
    for (int i = 0; i < GNSS_PROCESSES; i++) {
        const int axis = i % 3 == 2; /* 1: vertical */
        const bool is_velocity = i >= 3;
        const double tau_s = is_velocity ? from->velocity_tau_s : from->position_tau_s;
        to->sigma[i] = is_velocity ? from->velocity_sigma_m_s[axis] : from->position_sigma_m[axis];
        to->white[i] = is_velocity ? from->velocity_white_m_s[axis] : from->position_white_m[axis];
        to->variance[i] = to->sigma[i] * to->sigma[i] + to->white[i] * to->white[i];
        to->decay[i] = tau_s > 0.0 ? oto_exp(-1.0 / (rate_hz * tau_s)) : 0.0;
        to->drive[i] = oto_sqrt(1.0 - to->decay[i] * to->decay[i]);
    }
    to->time_to_fix_ns = ns_of(from->time_to_fix_s);
}

enum oto_status gnss_prepare(const struct gnss_params *params, double rate_hz, struct oto_rng_key noise_key,
                             struct gnss_plan *plan, struct oto_error *error)
{
    memset(plan, 0, sizeof *plan);
    if (params->jam_carrier_db > params->jam_tracking_db) {
        return oto_fail(error, OTO_INVALID, "gnss: jam.carrier_db is %g, above jam.tracking_db %g; the carrier phase is lost "
                        "first", params->jam_carrier_db, params->jam_tracking_db);
    }
    for (int i = 0; i < GNSS_FIX_MODES; i++) {
        prepare_mode(&params->modes[i], rate_hz, &plan->modes[i]);
    }
    plan->params = *params;
    plan->highest = (uint8_t)params->mode;
    plan->acquired_at_start = params->acquired_at_start != 0;
    plan->first_fix_ns = ns_of(params->first_fix_s);
    plan->reacquisition_ns = ns_of(params->reacquisition_s);
    plan->latency_ns = params->latency_ms * 1e6;
    plan->jitter_ns = params->jitter_ms * 1e6;
    plan->noise_key = noise_key;
    return OTO_OK;
}

void gnss_init(const struct gnss_plan *plan, struct gnss_state *state)
{
    memset(state, 0, sizeof *state);
    for (uint32_t m = 0; m < GNSS_FIX_MODES; m++) {
        for (uint32_t i = 0; i < GNSS_PROCESSES; i++) {
            state->process[m][i] = oto_normal_at(plan->noise_key, 0, NUM_DRAW_GNSS_START, OTO_RNG_DOMAIN_TURN_ON,
                                                 m * GNSS_PROCESSES + i);
        }
    }
    state->signal_since_ns = plan->acquired_at_start ? NEVER_NS : 0;
    state->carrier_since_ns = NEVER_NS;
}

/* ---- time ---- */

int64_t gnss_age_ns(const struct gnss_plan *plan, uint64_t n, int64_t t_ns)
{
    double age_ns = plan->latency_ns;
    if (plan->jitter_ns > 0.0) {
        age_ns += plan->jitter_ns *
                  oto_normal_at(plan->noise_key, n, NUM_DRAW_GNSS, OTO_RNG_DOMAIN_SAMPLE, JITTER);
    }
    age_ns = age_ns < 0.0 ? 0.0 : age_ns > MOST_AGE_NS ? MOST_AGE_NS : age_ns;
    const int64_t whole_ns = (int64_t)age_ns;
    return whole_ns < t_ns ? whole_ns : t_ns;
}

/* ---- modes ---- */

/* Times since which the receiver has a signal, and an undisturbed carrier; NEVER_NS: since before time zero. */
struct reception {
    int64_t since_ns, carrier_since_ns, to_first_fix_ns;
};

/* The highest mode whose acquisition time has passed. */
static uint8_t mode_of(const struct gnss_plan *plan, int64_t t_ns, const struct reception *reception, uint8_t highest)
{
    const int64_t fix_ns =
        reception->since_ns == NEVER_NS ? NEVER_NS : reception->since_ns + reception->to_first_fix_ns;
    const int64_t carrier_ns = reception->carrier_since_ns > fix_ns ? reception->carrier_since_ns : fix_ns;
    if (t_ns < fix_ns) {
        return OTO_NAVSAT_NONE;
    }
    uint8_t mode = OTO_NAVSAT_SINGLE;
    for (uint8_t m = OTO_NAVSAT_DGPS; m <= highest; m++) {
        const int64_t from_ns = m >= OTO_NAVSAT_FLOAT ? carrier_ns : fix_ns;
        if (from_ns == NEVER_NS || t_ns - from_ns >= plan->modes[m - 1].time_to_fix_ns) {
            mode = m;
        }
    }
    return mode;
}

uint8_t gnss_track_clean(const struct gnss_plan *plan, int64_t t_ns)
{
    const struct reception undisturbed = {plan->acquired_at_start ? NEVER_NS : 0, NEVER_NS, plan->first_fix_ns};
    return mode_of(plan, t_ns, &undisturbed, plan->highest);
}

uint8_t gnss_track(const struct gnss_plan *plan, struct gnss_state *state, int64_t t_ns,
                   const struct gnss_disturbance *disturbance)
{
    uint8_t highest = plan->highest;
    if (disturbance->outage || disturbance->jam_db >= plan->params.jam_tracking_db) {
        state->signal_since_ns = t_ns;
        state->was_lost = 1;
        return OTO_NAVSAT_NONE;
    }
    if (disturbance->jam_db >= plan->params.jam_carrier_db && highest > OTO_NAVSAT_DGPS) {
        state->carrier_since_ns = t_ns;
        highest = OTO_NAVSAT_DGPS;
    }
    const struct reception reception = {state->signal_since_ns, state->carrier_since_ns,
                                        state->was_lost != 0 ? plan->reacquisition_ns : plan->first_fix_ns};
    return mode_of(plan, t_ns, &reception, highest);
}

/* ---- errors ---- */

void gnss_advance(const struct gnss_plan *plan, struct gnss_state *state, uint64_t n)
{
    double deviates[DRIVES];
    oto_normals(plan->noise_key, n, NUM_DRAW_GNSS, OTO_RNG_DOMAIN_SAMPLE, deviates, DRIVES);
    for (int m = 0; m < GNSS_FIX_MODES; m++) {
        const struct gnss_mode *mode = &plan->modes[m];
        for (int i = 0; i < GNSS_PROCESSES; i++) {
            state->process[m][i] = mode->decay[i] * state->process[m][i] + mode->drive[i] * deviates[m * GNSS_PROCESSES + i];
        }
    }
}

oto_vec3 gnss_fault_direction(const struct gnss_plan *plan, uint32_t id)
{
    double s, c;
    const oto_philox_block block = oto_rng_block(plan->noise_key, 0, id, NUM_DRAW_FAULT_AZIMUTH, OTO_RNG_DOMAIN_FAULT);
    oto_sincos(OTO_PI * oto_u11(block.v[0]), &s, &c);
    return oto_vec3_make(s, c, 0.0);
}

/* Errors of the sample in ENU axes at the antenna. */
static void errors_of(const struct gnss_plan *plan, const struct gnss_state *state, uint64_t n, uint8_t mode,
                      double loss, oto_vec3 *position_m, oto_vec3 *velocity_m_s)
{
    const struct gnss_mode *law = &plan->modes[mode - 1];
    double white[JITTER], error[GNSS_PROCESSES];
    oto_normals(plan->noise_key, n, NUM_DRAW_GNSS, OTO_RNG_DOMAIN_SAMPLE, white, JITTER);
    for (int i = 0; i < GNSS_PROCESSES; i++) {
        error[i] = loss * (law->sigma[i] * state->process[mode - 1][i] + law->white[i] * white[WHITE + i]);
    }
    *position_m = oto_vec3_from_array(error);
    *velocity_m_s = oto_vec3_from_array(error + 3);
}

/* ---- the record ---- */

static double course_of(double east, double north)
{
    const double course = oto_atan2(east, north) * DEG_PER_RAD;
    return course < 0.0 ? course + 360.0 : course;
}

static void fill_motion(const struct gnss_plan *plan, oto_vec3 velocity_enu_m_s, struct oto_navsat_record *record)
{
    record->velocity_enu_m_s = velocity_enu_m_s;
    record->ground_speed_m_s = oto_hypot(velocity_enu_m_s.x, velocity_enu_m_s.y);
    if (record->ground_speed_m_s >= plan->params.course_min_speed_m_s && record->ground_speed_m_s > 0.0) {
        const double sigma_deg = record->speed_accuracy_m_s / record->ground_speed_m_s * DEG_PER_RAD;
        record->course_deg = course_of(velocity_enu_m_s.x, velocity_enu_m_s.y);
        record->course_accuracy_deg = sigma_deg < 180.0 ? sigma_deg : 180.0;
    }
}

static void fill_accuracies(const struct gnss_plan *plan, uint8_t mode, double loss, struct oto_navsat_record *record)
{
    const double *variance = plan->modes[mode - 1].variance;
    const double scale = loss * plan->params.accuracy_scale, square = scale * scale;
    for (int i = 0; i < 3; i++) {
        record->position_covariance[4 * i] = square * variance[i];
        record->velocity_covariance[4 * i] = square * variance[3 + i];
    }
    record->position_covariance_type = 2;
    record->horizontal_accuracy_m = scale * oto_sqrt(variance[0]);
    record->vertical_accuracy_m = scale * oto_sqrt(variance[2]);
    record->speed_accuracy_m_s = scale * oto_sqrt(variance[3]);
    record->hdop = plan->params.hdop;
    record->vdop = plan->params.vdop;
}

static int8_t status_of(uint8_t mode)
{
    static const int8_t status[OTO_NAVSAT_MODES] = {-1, 0, 1, 2, 2};
    return status[mode];
}

static void fill_place(const struct gnss_plan *plan, const double place[3], struct oto_navsat_record *record)
{
    record->latitude_deg = place[0];
    record->longitude_deg = place[1];
    record->altitude_m = place[2];
    record->geoid_separation_m = plan->params.geoid_separation_m;
    record->altitude_msl_m = place[2] - plan->params.geoid_separation_m;
}

/* Fills position and velocity with their errors, which are in the ENU axes at the antenna. */
static void fill_fix(const struct gnss_plan *plan, const struct gnss_truth *truth, oto_vec3 position_error_m,
                     oto_vec3 velocity_error_m_s, double last[3], struct oto_navsat_record *record)
{
    const oto_vec3 origin_ecef_m = oto_ecef_from_geodetic(plan->origin);
    const oto_vec3 ecef_m = oto_vec3_add(origin_ecef_m, oto_quat_rotate_inv(plan->q_enu_from_ecef, truth->position_enu_m));
    const oto_geodetic antenna = oto_geodetic_from_ecef(ecef_m);
    const oto_quat q_local_from_ecef = oto_q_enu_from_ecef(antenna.lat_rad, antenna.lon_rad);
    const oto_geodetic place =
        oto_geodetic_from_ecef(oto_vec3_add(ecef_m, oto_quat_rotate_inv(q_local_from_ecef, position_error_m)));
    const oto_vec3 velocity_local_m_s = oto_quat_rotate(
        q_local_from_ecef, oto_quat_rotate_inv(plan->q_enu_from_ecef, truth->velocity_enu_m_s));
    last[0] = place.lat_rad * DEG_PER_RAD;
    last[1] = place.lon_rad * DEG_PER_RAD;
    last[2] = place.alt_m;
    fill_motion(plan, oto_vec3_add(velocity_local_m_s, velocity_error_m_s), record);
}

bool gnss_report(const struct gnss_plan *plan, const struct gnss_state *state, uint64_t n, const struct gnss_truth *truth,
                 uint8_t mode, const struct gnss_disturbance *disturbance, double last[3],
                 struct oto_navsat_record *record)
{
    if (!oto_vec3_is_finite(truth->position_enu_m) || !oto_vec3_is_finite(truth->velocity_enu_m_s)) {
        return false;
    }
    record->utc_ns = plan->utc_start_ns + truth->t_ns - truth->age_ns;
    record->age_ns = truth->age_ns;
    record->mode = mode;
    record->status = status_of(mode);
    record->service = (uint16_t)plan->params.service;
    record->course_deg = record->course_accuracy_deg = -1.0;
    record->horizontal_accuracy_m = record->vertical_accuracy_m = record->speed_accuracy_m_s = -1.0;
    if (mode != OTO_NAVSAT_NONE) {
        const double loss = oto_pow(10.0, disturbance->jam_db / 20.0);
        oto_vec3 position_error_m, velocity_error_m_s;
        errors_of(plan, state, n, mode, loss, &position_error_m, &velocity_error_m_s);
        record->satellites = (uint8_t)plan->params.satellites;
        fill_accuracies(plan, mode, loss, record);
        fill_fix(plan, truth, oto_vec3_add(position_error_m, disturbance->displacement_enu_m),
                 oto_vec3_add(velocity_error_m_s, disturbance->rate_enu_m_s), last, record);
    }
    fill_place(plan, last, record);
    return true;
}
