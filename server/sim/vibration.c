#include "sim/vibration.h"

#define SQRT_HALF 0x1.6a09e667f3bcdp-1

/* Below this speed, in turns a second, the rotation of the body by an engine of constant amplitudes decreases to zero. */
#define SLOW_PER_S 0.1

/*
 * `base`: the phase of a line is a multiple of it. `gain`: factor of the amplitudes. `reach`: the angle, in turns of the
 * base, for a rate of 1: gain / base_per_s.
 */
struct drive {
    double base, base_per_s, base_per_s2;
    double gain;
    double reach, reach_per_s, reach_per_s2;
};

/* The table of the speed is linear between its rows, so its second derivative is zero. */
static struct drive drive_of(const struct srv_vibration_source *source, double t_s)
{
    if (!source->is_engine) {
        return (struct drive){.base = t_s, .base_per_s = 1.0, .gain = 1.0, .reach = 1.0};
    }
    const struct srv_table *rpm = &source->rpm_along_time;
    const double speed = srv_table_value(rpm, t_s) / 60.0, slope = srv_table_slope(rpm, t_s) / 60.0;
    struct drive drive = {
        .base = srv_table_integral(rpm, t_s) / 60.0, .base_per_s = speed, .base_per_s2 = slope, .gain = 1.0};
    if (source->reference_rpm > 0.0) {
        const double reference = source->reference_rpm / 60.0;
        drive.gain = speed / reference * (speed / reference);
        drive.reach = speed / (reference * reference);
        drive.reach_per_s = slope / (reference * reference);
        return drive;
    }
    /* speed / (speed² + slow²): 1 / speed, but finite for an engine at rest. */
    const double slow = SLOW_PER_S * SLOW_PER_S, sum = speed * speed + slow;
    drive.reach = speed / sum;
    drive.reach_per_s = slope * (slow - speed * speed) / (sum * sum);
    drive.reach_per_s2 = slope * slope * 2.0 * speed * (speed * speed - 3.0 * slow) / (sum * sum * sum);
    return drive;
}

/* Sine and cosine of an angle in turns; whole turns are subtracted first, where that is exact. */
static void sincos_of_turns(double turns, double *sine, double *cosine)
{
    const double part = turns < 0x1p52 ? turns - (double)(int64_t)turns : 0.0;
    oto_sincos(OTO_TWO_PI * part, sine, cosine);
}

/*
 * A line of the rate Rs sin θ + Rc cos θ: the angle h (Rc sin θ - Rs cos θ), h = reach / (2π factor), and its two
 * derivatives. For a line of constant amplitude and frequency the rate is the line itself.
 */
static void add_turn(const struct srv_vibration_line *line, const struct drive *drive, double s, double c,
                     struct srv_shake *shake)
{
    const double per_turn = OTO_TWO_PI * line->factor;
    const double w = per_turn * drive->base_per_s, dw = per_turn * drive->base_per_s2;
    const double h = drive->reach / per_turn, dh = drive->reach_per_s / per_turn, ddh = drive->reach_per_s2 / per_turn;
    const oto_vec3 across =
        oto_vec3_sub(oto_vec3_scale(line->rate_cos_rad_s, s), oto_vec3_scale(line->rate_sin_rad_s, c));
    const oto_vec3 along =
        oto_vec3_add(oto_vec3_scale(line->rate_sin_rad_s, s), oto_vec3_scale(line->rate_cos_rad_s, c));
    shake->angle_rad = oto_vec3_add_scaled(shake->angle_rad, across, h);
    shake->angle_rate_rad_s = oto_vec3_add_scaled(shake->angle_rate_rad_s, across, dh);
    shake->angle_rate_rad_s = oto_vec3_add_scaled(shake->angle_rate_rad_s, along, h * w);
    shake->angle_accel_rad_s2 = oto_vec3_add_scaled(shake->angle_accel_rad_s2, across, ddh - h * w * w);
    shake->angle_accel_rad_s2 = oto_vec3_add_scaled(shake->angle_accel_rad_s2, along, 2.0 * dh * w + h * dw);
}

static void add_line(const struct srv_vibration_line *line, const struct drive *drive, bool turns,
                     struct srv_shake *shake)
{
    double s, c;
    sincos_of_turns(line->factor * drive->base, &s, &c);
    const double gs = drive->gain * s, gc = drive->gain * c;
    shake->accel_m_s2 = oto_vec3_add_scaled(shake->accel_m_s2, line->accel_sin_m_s2, gs);
    shake->accel_m_s2 = oto_vec3_add_scaled(shake->accel_m_s2, line->accel_cos_m_s2, gc);
    if (turns) {
        add_turn(line, drive, s, c, shake);
    }
}

/* Each value holds around its instant n/rate, so that rounding of the time cannot change the value at that instant. */
static void add_noise(const struct srv_vibration *vibration, uint32_t index, double t_s, struct srv_shake *shake)
{
    const struct srv_vibration_source *source = &vibration->sources[index];
    const uint64_t n = (uint64_t)(t_s * source->noise_rate_hz + 0.5), term = 1 + index;
    double now[4], before[4] = {0.0};
    oto_normal4(oto_rng_block(vibration->key, n + 1, 0, term, OTO_RNG_DOMAIN_WORLD), now);
    if (source->is_differenced) {
        oto_normal4(oto_rng_block(vibration->key, n, 0, term, OTO_RNG_DOMAIN_WORLD), before);
    }
    const double gain = source->is_differenced ? SQRT_HALF : 1.0;
    const oto_vec3 rms = source->noise_rms_m_s2;
    shake->accel_m_s2 = oto_vec3_add_scaled(shake->accel_m_s2,
                                            oto_vec3_make(rms.x * (now[0] - before[0]), rms.y * (now[1] - before[1]),
                                                          rms.z * (now[2] - before[2])), gain);
}

struct srv_shake srv_vibration_at(const struct srv_vibration *vibration, double t_s)
{
    struct srv_shake shake = {.turns = false};
    for (uint32_t i = 0; i < vibration->source_count; i++) {
        const struct srv_vibration_source *source = &vibration->sources[i];
        if (source->noise_rate_hz > 0.0) {
            add_noise(vibration, i, t_s, &shake);
            continue;
        }
        const struct drive drive = drive_of(source, t_s);
        shake.turns |= source->turns;
        const struct srv_vibration_line *line = &vibration->lines[source->first_line];
        for (uint32_t k = 0; k < source->line_count; k++) {
            add_line(&line[k], &drive, source->turns, &shake);
        }
    }
    return shake;
}

/* (1 - cos θ)/θ² and (θ - sin θ)/θ³ with their derivatives by θ²; series below 1 rad, to 1e-13. */
struct turn_factors {
    double a, b, da, db;
};

static struct turn_factors turn_factors(double s)
{
    struct turn_factors f = {0.0, 0.0, 0.0, 0.0};
    if (s < 1.0) {
        double term_a = 1.0 / 2.0, term_b = 1.0 / 6.0;
        for (int k = 0; k < 8; k++) {
            f.a += term_a;
            f.b += term_b;
            const double next_a = -term_a / ((2 * k + 3) * (2 * k + 4)), next_b = -term_b / ((2 * k + 4) * (2 * k + 5));
            f.da += (k + 1) * next_a;
            f.db += (k + 1) * next_b;
            term_a = next_a * s;
            term_b = next_b * s;
        }
        return f;
    }
    const double angle = oto_sqrt(s);
    double sine, cosine;
    oto_sincos(angle, &sine, &cosine);
    f.a = (1.0 - cosine) / s;
    f.b = (angle - sine) / (s * angle);
    f.da = (sine / (2.0 * angle) - f.a) / s;
    f.db = ((1.0 - cosine) / (2.0 * s) - 1.5 * f.b) / s;
    return f;
}

/*
 * For q = q0 exp(φ): ω = exp(-φ) ω0 + v, v = φ' - a φ×φ' + b φ×(φ×φ'), and the derivative of both (Bullo and Murray,
 * "Proportional derivative control on the Euclidean group", 1995, right-trivialised differential of exp).
 */
void srv_shake_turn(const struct srv_shake *shake, struct oto_truth_record *truth)
{
    const oto_vec3 p = shake->angle_rad, dp = shake->angle_rate_rad_s, ddp = shake->angle_accel_rad_s2;
    const struct turn_factors f = turn_factors(oto_vec3_norm_sq(p));
    const double ds = 2.0 * oto_vec3_dot(p, dp);
    const oto_vec3 once = oto_vec3_cross(p, dp), twice = oto_vec3_cross(p, once);
    oto_vec3 v = oto_vec3_add_scaled(dp, once, -f.a), dv = ddp;
    v = oto_vec3_add_scaled(v, twice, f.b);
    const oto_vec3 dtwice = oto_vec3_add(oto_vec3_cross(dp, once), oto_vec3_cross(p, oto_vec3_cross(p, ddp)));
    dv = oto_vec3_add_scaled(dv, oto_vec3_cross(p, ddp), -f.a);
    dv = oto_vec3_add_scaled(dv, once, -f.da * ds);
    dv = oto_vec3_add_scaled(dv, dtwice, f.b);
    dv = oto_vec3_add_scaled(dv, twice, f.db * ds);
    const oto_quat turn = oto_quat_from_rotvec(p);
    const oto_vec3 w = oto_quat_rotate_inv(turn, truth->angular_rate_body_rad_s);
    const oto_vec3 dw =
        oto_vec3_sub(oto_quat_rotate_inv(turn, truth->angular_accel_body_rad_s2), oto_vec3_cross(v, w));
    truth->q_enu_from_body = oto_quat_normalize(oto_quat_mul(truth->q_enu_from_body, turn));
    truth->angular_rate_body_rad_s = oto_vec3_add(w, v);
    truth->angular_accel_body_rad_s2 = oto_vec3_add(dw, dv);
}
