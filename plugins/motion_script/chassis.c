#include "chassis.h"

#include <string.h>

#include "num_truth.h"

#define CORNER_M 40.0 /* radius at which half of the crown's change is reached */
#define SLOW_M_S 1.0  /* keeps the curvature finite at rest */
#define GRAVITY_M_S2 9.80665
#define SPEED_PITCH_M_S 30.0 /* at which the body is pitched by speed_pitch_deg */

/* Terms of the noise key. */
enum { TERM_SLOPE = 0x726f6101, TERM_BANK, TERM_PITCH, TERM_ROLL, TERM_VERTICAL };

/* A quantity with its first and second derivative by time. */
struct motion {
    double value, rate, accel;
};

static struct motion sum(struct motion a, struct motion b)
{
    return (struct motion){a.value + b.value, a.rate + b.rate, a.accel + b.accel};
}

static struct motion product(struct motion a, struct motion b)
{
    return (struct motion){a.value * b.value, a.rate * b.value + a.value * b.rate,
                           a.accel * b.value + 2.0 * a.rate * b.rate + a.value * b.accel};
}

/* The quantity a/(a + b), with derivatives; a + b must be positive. */
static struct motion part(struct motion a, struct motion b)
{
    const struct motion all = sum(a, b);
    const double first = a.rate * b.value - a.value * b.rate, second = a.accel * b.value - a.value * b.accel;
    const double square = all.value * all.value;
    return (struct motion){a.value / all.value, first / square, (second * all.value - 2.0 * first * all.rate) / (square * all.value)};
}

static struct motion scaled(struct motion a, double by)
{
    return (struct motion){a.value * by, a.rate * by, a.accel * by};
}

/* ---- making ------------------------------------------------------------------------------------------------------ */

/*
 * Makes the sines of a vibration. `integrations`: the number of times that they will be integrated; their amplitude is
 * divided by the angular rate to that power.
 */
static struct chassis_tones make_tones(double rms, const double band_hz[2], int integrations, struct oto_rng_key key,
                                       uint64_t term)
{
    struct chassis_tones tones;
    double part_hz = (band_hz[1] - band_hz[0]) / CHASSIS_TONES;
    for (uint64_t i = 0; i < CHASSIS_TONES; i++) {
        oto_philox_block block = oto_rng_block(key, i, 0, term, OTO_RNG_DOMAIN_WORLD);
        tones.rate_rad_s[i] = OTO_TWO_PI * (band_hz[0] + part_hz * ((double)i + oto_u01(block.v[0])));
        tones.phase_rad[i] = OTO_PI * oto_u11(block.v[1]);
        tones.amplitude[i] = rms * oto_sqrt(2.0 / CHASSIS_TONES);
        for (int k = 0; k < integrations; k++)
            tones.amplitude[i] /= tones.rate_rad_s[i];
    }
    return tones;
}

static enum oto_status check_band(const char *key, const double band_hz[2], struct oto_error *error)
{
    if (band_hz[0] > 0.0 && band_hz[1] > band_hz[0])
        return OTO_OK;
    return oto_fail(error, OTO_INVALID, "vibration.%s: [%g, %g] is no band; give two frequencies above 0, the lower first",
                    key, band_hz[0], band_hz[1]);
}

static double slope_of(double grade_deg)
{
    double sine, cosine;
    oto_sincos(grade_deg * OTO_DEG, &sine, &cosine);
    return sine / cosine;
}

enum oto_status chassis_make(const struct chassis_params *params, struct oto_rng_key key, struct chassis *chassis,
                             struct oto_error *error)
{
    const double deg = OTO_DEG, *angle_hz = params->angle_band_hz, *vertical_hz = params->vertical_band_hz;
    enum oto_status status = check_band("angle_band_hz", angle_hz, error);
    if (status == OTO_OK)
        status = check_band("vertical_band_hz", vertical_hz, error);
    if (status != OTO_OK)
        return status;
    if (params->level_path != 0 && params->speed_pitch_deg != 0.0)
        return oto_fail(error, OTO_INVALID,
                        "suspension.speed_pitch_deg: %g is given, but the path is level; set path to road, or leave it out",
                        params->speed_pitch_deg);
    *chassis = (struct chassis){
        .shakes = params->pitch_vibration_deg > 0.0 || params->roll_vibration_deg > 0.0 ||
                  params->vertical_vibration_m_s2 > 0.0,
        .pitches = params->level_path == 0 &&
                   (params->pitch_compliance_deg_s2_m != 0.0 || params->speed_pitch_deg != 0.0 || params->pitch_vibration_deg > 0.0),
        .leans = params->level_path == 0 &&
                 (params->pitch_compliance_deg_s2_m != 0.0 || params->roll_compliance_deg_s2_m != 0.0),
        .level_path = params->level_path != 0,
        .slope = slope_of(params->grade_deg),
        .bank_rad = (params->bank_deg + params->crown_deg * (double)params->traffic_side) * deg,
        .corner_bank_rad = -params->corner_crown_loss * params->crown_deg * (double)params->traffic_side * deg,
        .slope_wander = road_wander_make(slope_of(params->grade_rms_deg), params->correlation_length_m, key, TERM_SLOPE),
        .bank_wander_rad = road_wander_make(params->bank_rms_deg * deg, params->correlation_length_m, key, TERM_BANK),
        .pitch_compliance_rad_s2_m = params->pitch_compliance_deg_s2_m * deg,
        .roll_compliance_rad_s2_m = params->roll_compliance_deg_s2_m * deg,
        .speed_pitch_rad_s2_m2 = params->speed_pitch_deg * deg / (SPEED_PITCH_M_S * SPEED_PITCH_M_S),
        .half_speed_sq_m2_s2 = params->half_speed_m_s * params->half_speed_m_s,
        .pitch = make_tones(params->pitch_vibration_deg * deg, angle_hz, 0, key, TERM_PITCH),
        .roll = make_tones(params->roll_vibration_deg * deg, angle_hz, 0, key, TERM_ROLL),
        .vertical = make_tones(params->vertical_vibration_m_s2, vertical_hz, 2, key, TERM_VERTICAL)};
    chassis->plain = !chassis->shakes && params->grade_deg == 0.0 && params->grade_rms_deg == 0.0 &&
                     chassis->bank_rad == 0.0 && chassis->corner_bank_rad == 0.0 && params->bank_rms_deg == 0.0 &&
                     params->pitch_compliance_deg_s2_m == 0.0 && params->roll_compliance_deg_s2_m == 0.0 &&
                     params->speed_pitch_deg == 0.0;
    return OTO_OK;
}

void chassis_begin(const struct chassis *chassis, struct chassis_cache *cache)
{
    road_window_at(&chassis->slope_wander, 0.0, &cache->slope);
    road_window_at(&chassis->bank_wander_rad, 0.0, &cache->bank);
}

void chassis_follow(const struct chassis *chassis, double distance_m, struct chassis_cache *cache)
{
    road_window_follow(&chassis->slope_wander, distance_m, &cache->slope);
    road_window_follow(&chassis->bank_wander_rad, distance_m, &cache->bank);
}

/* ---- the truth --------------------------------------------------------------------------------------------------- */

static void truth_in_plane(const struct script_instant *now, double height_m, struct oto_truth_record *truth)
{
    double half_s, half_c, s, c, v = now->speed_m_s, a = now->accel_m_s2, a_left = v * now->turn_rate_rad_s;
    oto_sincos(0.5 * now->heading_rad, &half_s, &half_c);
    s = 2.0 * half_s * half_c;
    c = 1.0 - 2.0 * half_s * half_s;
    memset(truth, 0, sizeof *truth);
    truth->position_enu_m = oto_vec3_make(now->at_m.x_m, now->at_m.y_m, height_m);
    truth->velocity_enu_m_s = oto_vec3_make(v * c, v * s, 0.0);
    truth->accel_enu_m_s2 = oto_vec3_make(a * c - a_left * s, a * s + a_left * c, 0.0);
    truth->q_enu_from_body = oto_quat_make(half_c, 0.0, 0.0, half_s);
    truth->angular_rate_body_rad_s.z = now->turn_rate_rad_s;
    truth->angular_accel_body_rad_s2.z = now->turn_accel_rad_s2;
    truth->longitudinal_speed_m_s = v;
}

/* Converts a function of the distance, with its derivatives, to a function of time for the vehicle. */
static struct motion along_path(double value, double first, double second, const struct script_instant *now)
{
    double v = now->speed_m_s;
    return (struct motion){value, first * v, second * v * v + first * now->accel_m_s2};
}

/* The angle of the grade, atan(slope), with its derivatives by time. */
static struct motion grade_of(double slope, const struct road_jet *wander, const struct script_instant *now)
{
    double by = 1.0 / (1.0 + slope * slope), first = wander->first * by;
    return along_path(oto_atan2(slope, 1.0), first, wander->second * by - 2.0 * slope * first * first, now);
}

/* The component of the reaction to gravity along an axis of the road that is inclined by an angle with these derivatives. */
static struct motion reaction(struct motion angle)
{
    double s, c;
    oto_sincos(angle.value, &s, &c);
    return scaled((struct motion){s, c * angle.rate, c * angle.accel - s * angle.rate * angle.rate}, GRAVITY_M_S2);
}

static struct motion tones_at(const struct chassis_tones *tones, double t_s)
{
    struct motion m = {0.0, 0.0, 0.0};
    for (int i = 0; i < CHASSIS_TONES; i++) {
        double sine, cosine, rate = tones->rate_rad_s[i], amplitude = tones->amplitude[i];
        oto_sincos(rate * t_s + tones->phase_rad[i], &sine, &cosine);
        m.value += amplitude * sine;
        m.rate += amplitude * rate * cosine;
        m.accel -= amplitude * rate * rate * sine;
    }
    return m;
}

/* The factor v²/(v² + h²) on the vibration at this speed. */
static struct motion liveliness(double half_sq, const struct script_instant *now)
{
    double v = now->speed_m_s, a = now->accel_m_s2, all, first, second;
    if (half_sq == 0.0)
        return (struct motion){1.0, 0.0, 0.0};
    all = v * v + half_sq;
    first = 2.0 * v * half_sq / (all * all);
    second = 2.0 * half_sq * (half_sq - 3.0 * v * v) / (all * all * all);
    return (struct motion){v * v / all, first * a, second * a * a + first * now->jerk_m_s3};
}

static struct motion speed_squared(const struct script_instant *now)
{
    const double v = now->speed_m_s, a = now->accel_m_s2;
    return (struct motion){v * v, 2.0 * v * a, 2.0 * (a * a + v * now->jerk_m_s3)};
}

/* Degree of cornering: 0 on a straight road, 1/2 at a radius of CORNER_M, almost 1 at a junction. */
static struct motion cornering(const struct script_instant *now)
{
    const double w = now->turn_rate_rad_s, dw = now->turn_accel_rad_s2;
    const struct motion turning = {w * w, 2.0 * w * dw, 2.0 * (dw * dw + w * now->turn_jerk_rad_s3)};
    struct motion going = speed_squared(now);
    going.value += SLOW_M_S * SLOW_M_S;
    return part(turning, scaled(going, 1.0 / (CORNER_M * CORNER_M)));
}

static void shake(const struct chassis *chassis, const struct script_instant *now, double t_s, struct motion *pitch,
                  struct motion *roll, struct motion *height)
{
    struct motion live = liveliness(chassis->half_speed_sq_m2_s2, now);
    *pitch = sum(*pitch, product(live, tones_at(&chassis->pitch, t_s)));
    *roll = sum(*roll, product(live, tones_at(&chassis->roll, t_s)));
    *height = sum(*height, product(live, tones_at(&chassis->vertical, t_s)));
}

/* Turns the body about its own y axis by an angle with these derivatives, in addition to its attitude in `truth`. */
static void pitch_body(const struct motion *by, struct oto_truth_record *truth)
{
    double s, c;
    oto_sincos(0.5 * by->value, &s, &c);
    const oto_quat turn = oto_quat_make(c, 0.0, s, 0.0);
    const oto_vec3 w = oto_quat_rotate_inv(turn, truth->angular_rate_body_rad_s);
    const oto_vec3 dw = oto_quat_rotate_inv(turn, truth->angular_accel_body_rad_s2);
    truth->q_enu_from_body = oto_quat_mul(truth->q_enu_from_body, turn);
    truth->angular_rate_body_rad_s = oto_vec3_make(w.x, w.y + by->rate, w.z);
    truth->angular_accel_body_rad_s2 = oto_vec3_make(dw.x - by->rate * w.z, dw.y + by->accel, dw.z + by->rate * w.x);
    truth->longitudinal_speed_m_s = oto_quat_rotate_inv(truth->q_enu_from_body, truth->velocity_enu_m_s).x;
}

void chassis_truth(const struct chassis *chassis, const struct chassis_cache *cache, const struct script_instant *now,
                   double t_s, double height_m, struct oto_truth_record *truth)
{
    const double v = now->speed_m_s, a = now->accel_m_s2, j = now->jerk_m_s3;
    const double w = now->turn_rate_rad_s, dw = now->turn_accel_rad_s2, ddw = now->turn_jerk_rad_s3;
    struct num_pose pose;
    double s, c;
    if (chassis->plain) {
        truth_in_plane(now, height_m, truth);
        return;
    }
    const struct road_jet slope = road_wander_at(&chassis->slope_wander, &cache->slope, now->distance_m);
    const struct road_jet bank = road_wander_at(&chassis->bank_wander_rad, &cache->bank, now->distance_m);
    struct motion ahead = {a, j, now->snap_m_s4};
    struct motion aside = {v * w, a * w + v * dw, j * w + 2.0 * a * dw + v * ddw};
    const double incline = chassis->slope + slope.value;
    struct motion height =
        chassis->level_path
            ? (struct motion){height_m, 0.0, 0.0}
            : along_path(height_m + chassis->slope * now->distance_m + slope.integral, incline, slope.first, now);
    const struct motion grade = scaled(grade_of(incline, &slope, now), -1.0);
    struct motion roll = along_path(chassis->bank_rad + bank.value, bank.first, bank.second, now);
    struct motion corner = {0.0, 0.0, 0.0};
    if (chassis->corner_bank_rad != 0.0)
        corner = scaled(cornering(now), chassis->corner_bank_rad);
    if (chassis->leans) { /* load moves from wheel to wheel by the specific force, on a slope as well */
        ahead = sum(ahead, reaction(scaled(grade, -1.0)));
        aside = sum(aside, reaction(sum(roll, corner)));
    }
    struct motion pitch = scaled(ahead, chassis->pitch_compliance_rad_s2_m); /* on the springs */
    roll = sum(roll, scaled(aside, chassis->roll_compliance_rad_s2_m));
    if (chassis->corner_bank_rad != 0.0)
        roll = sum(roll, corner);
    if (chassis->speed_pitch_rad_s2_m2 != 0.0)
        pitch = sum(pitch, scaled(speed_squared(now), chassis->speed_pitch_rad_s2_m2));
    if (!chassis->pitches)
        pitch = sum(grade, pitch);
    if (chassis->shakes)
        shake(chassis, now, t_s, &pitch, &roll, &height);
    const struct motion tilt = chassis->pitches ? grade : pitch;
    oto_sincos(now->heading_rad, &s, &c);
    pose.position_enu_m = oto_vec3_make(now->at_m.x_m, now->at_m.y_m, height.value);
    pose.velocity_enu_m_s = oto_vec3_make(v * c, v * s, height.rate);
    pose.accel_enu_m_s2 = oto_vec3_make(a * c - v * w * s, a * s + v * w * c, height.accel);
    pose.rpy_rad = oto_vec3_make(roll.value, tilt.value, now->heading_rad);
    pose.rpy_rate_rad_s = oto_vec3_make(roll.rate, tilt.rate, w);
    pose.rpy_accel_rad_s2 = oto_vec3_make(roll.accel, tilt.accel, dw);
    num_truth_from_pose(&pose, truth);
    if (chassis->level_path)
        truth->accel_enu_m_s2 =
            oto_quat_rotate(truth->q_enu_from_body, oto_vec3_make(a, v * w, height.accel));
    if (chassis->pitches)
        pitch_body(&pitch, truth);
}
