#include "sim/vibration.h"

#define SQRT_HALF 0x1.6a09e667f3bcdp-1

/* What the angles of a source's lines are multiples of, and how strong they are. */
struct drive {
    double base, base_per_s;
    double gain, gain_per_s;
};

static struct drive drive_of(const struct srv_vibration_source *source, double t_s)
{
    if (!source->is_engine) {
        return (struct drive){t_s, 1.0, 1.0, 0.0};
    }
    const struct srv_table *rpm = &source->rpm_along_time;
    const double speed = srv_table_value(rpm, t_s);
    struct drive drive = {srv_table_integral(rpm, t_s) / 60.0, speed / 60.0, 1.0, 0.0};
    if (source->reference_rpm > 0.0) {
        const double ratio = speed / source->reference_rpm;
        drive.gain = ratio * ratio;
        drive.gain_per_s = 2.0 * ratio * srv_table_slope(rpm, t_s) / source->reference_rpm;
    }
    return drive;
}

/* Sine and cosine of so many turns; whole ones are taken off first, where that is exact. */
static void sincos_of_turns(double turns, double *sine, double *cosine)
{
    const double part = turns < 0x1p52 ? turns - (double)(int64_t)turns : 0.0;
    oto_sincos(OTO_TWO_PI * part, sine, cosine);
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
        const double angle_per_s = OTO_TWO_PI * line->factor * drive->base_per_s;
        const double ds = angle_per_s * gc + drive->gain_per_s * s, dc = drive->gain_per_s * c - angle_per_s * gs;
        shake->rate_rad_s = oto_vec3_add_scaled(shake->rate_rad_s, line->rate_sin_rad_s, gs);
        shake->rate_rad_s = oto_vec3_add_scaled(shake->rate_rad_s, line->rate_cos_rad_s, gc);
        shake->angular_accel_rad_s2 = oto_vec3_add_scaled(shake->angular_accel_rad_s2, line->rate_sin_rad_s, ds);
        shake->angular_accel_rad_s2 = oto_vec3_add_scaled(shake->angular_accel_rad_s2, line->rate_cos_rad_s, dc);
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
    struct srv_shake shake = {oto_vec3_zero(), oto_vec3_zero(), oto_vec3_zero()};
    for (uint32_t i = 0; i < vibration->source_count; i++) {
        const struct srv_vibration_source *source = &vibration->sources[i];
        if (source->noise_rate_hz > 0.0) {
            add_noise(vibration, i, t_s, &shake);
            continue;
        }
        const struct drive drive = drive_of(source, t_s);
        const struct srv_vibration_line *line = &vibration->lines[source->first_line];
        for (uint32_t k = 0; k < source->line_count; k++) {
            add_line(&line[k], &drive, source->turns, &shake);
        }
    }
    return shake;
}
