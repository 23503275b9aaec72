#include "monitors.h"

#include <string.h>

#define SECOND_NS INT64_C(1000000000)
#define GAP_NS (SECOND_NS / 10) /* a longer gap is a break */
#define RATE_MOST_RAD_S 10.0    /* no car turns faster */
#define FORCE_MOST_M_S2 80.0
#define SPEED_MOST_M_S 100.0
#define LEAP_STEPS 12.0 /* a change of so many mean changes is a spike, unless the next sample confirms it */
#define LEAP_LEAST_M_S2 3.0
#define LEAP_LEAST_RAD_S 0.3
#define FELT_LEAST_M_S2 8.8
#define FELT_MOST_M_S2 10.8
#define SLOWEST_S 0.0215 /* 50 Hz, with a tolerance for the clock */
#define LEVEL_UP 10      /* tenths of a second until a raw bit sets its debounced bit; at level 0 that bit is cleared */
#define LEVEL_MOST 30

#define BIT(name) (1u << OTO_CALIBRATION_MONITOR_##name)

void monitors_init(struct monitors *monitors)
{
    memset(monitors, 0, sizeof *monitors);
    monitors->felt_m_s2 = 9.80665;
    monitors->period_s = 0.01;
}

static bool is_same(oto_vec3 a, oto_vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static bool is_within(oto_vec3 a, double most)
{
    return oto_fabs(a.x) <= most && oto_fabs(a.y) <= most && oto_fabs(a.z) <= most;
}

static enum monitors_answer drop_imu(struct monitors *monitors, uint32_t why)
{
    monitors->once |= why;
    monitors->imu_dropped++;
    return MONITORS_DROP;
}

/* True for a single sample far from the previous one. If the next sample is far from it as well, the motion is real. */
static bool is_spike(struct monitors *monitors, oto_vec3 felt, oto_vec3 rate)
{
    const double force_step = oto_vec3_norm(oto_vec3_sub(felt, monitors->specific_force_m_s2));
    const double rate_step = oto_vec3_norm(oto_vec3_sub(rate, monitors->angular_rate_rad_s));
    const bool leaps = force_step > LEAP_LEAST_M_S2 + LEAP_STEPS * monitors->force_step_m_s2 ||
                       rate_step > LEAP_LEAST_RAD_S + LEAP_STEPS * monitors->rate_step_rad_s;
    if (leaps && monitors->leaps == 0) {
        monitors->leaps = 1;
        return true;
    }
    monitors->leaps = 0;
    monitors->force_step_m_s2 += 0.02 * (force_step - monitors->force_step_m_s2);
    monitors->rate_step_rad_s += 0.02 * (rate_step - monitors->rate_step_rad_s);
    return false;
}

static void note_imu(struct monitors *monitors, int64_t t_ns, oto_vec3 felt, oto_vec3 rate)
{
    if (!monitors->has_imu || !is_same(felt, monitors->specific_force_m_s2) ||
        !is_same(rate, monitors->angular_rate_rad_s)) {
        monitors->imu_changed_ns = t_ns;
        monitors->speed_when_imu_changed_m_s = monitors->speed_m_s;
    }
    if (!monitors->has_imu && !monitors->has_speed) {
        monitors->begun_ns = t_ns;
    }
    monitors->imu_t_ns = t_ns;
    monitors->has_imu = 1;
    monitors->imu_used++;
    monitors->specific_force_m_s2 = felt;
    monitors->angular_rate_rad_s = rate;
}

enum monitors_answer monitors_imu(struct monitors *monitors, int64_t t_ns, oto_vec3 felt, oto_vec3 rate)
{
    const int64_t since_ns = t_ns - monitors->imu_t_ns;
    const bool first = !monitors->has_imu;
    if (!oto_vec3_is_finite(felt) || !oto_vec3_is_finite(rate)) {
        return drop_imu(monitors, BIT(IMU_NOT_FINITE));
    }
    if (!is_within(rate, RATE_MOST_RAD_S)) {
        return drop_imu(monitors, BIT(GYRO_RANGE));
    }
    if (!is_within(felt, FORCE_MOST_M_S2)) {
        return drop_imu(monitors, BIT(ACCEL_RANGE));
    }
    if (!first && since_ns <= 0 && since_ns > -SECOND_NS) {
        return drop_imu(monitors, BIT(IMU_TIME));
    }
    if (!first && since_ns > 0 && since_ns <= GAP_NS && is_spike(monitors, felt, rate)) {
        monitors->imu_dropped++;
        return MONITORS_DROP;
    }
    note_imu(monitors, t_ns, felt, rate);
    if (first || since_ns > GAP_NS || since_ns <= 0) {
        monitors->once |= first ? 0 : BIT(IMU_TIME);
        return MONITORS_BREAK;
    }
    monitors->period_s += 0.01 * ((double)since_ns * 1e-9 - monitors->period_s);
    monitors->felt_m_s2 += 0.002 * (oto_vec3_norm(felt) - monitors->felt_m_s2);
    return MONITORS_USE;
}

static enum monitors_answer drop_speed(struct monitors *monitors, uint32_t why)
{
    monitors->once |= why;
    monitors->speed_dropped++;
    return MONITORS_DROP;
}

enum monitors_answer monitors_speed(struct monitors *monitors, int64_t t_ns, double speed_m_s)
{
    const int64_t since_ns = t_ns - monitors->speed_t_ns, behind_ns = monitors->imu_t_ns - t_ns;
    if (!(speed_m_s - speed_m_s == 0.0)) {
        return drop_speed(monitors, BIT(SPEED_NOT_FINITE));
    }
    if (oto_fabs(speed_m_s) > SPEED_MOST_M_S) {
        return drop_speed(monitors, BIT(SPEED_RANGE));
    }
    if ((monitors->has_speed && since_ns <= 0 && since_ns > -SECOND_NS) ||
        (monitors->has_imu && behind_ns > SECOND_NS / 2)) {
        return drop_speed(monitors, BIT(SPEED_TIME));
    }
    if (!monitors->has_imu && !monitors->has_speed) {
        monitors->begun_ns = t_ns;
    }
    if (!monitors->has_speed || speed_m_s != monitors->speed_m_s) {
        monitors->speed_changed_ns = t_ns;
    }
    monitors->speed_t_ns = t_ns;
    monitors->speed_m_s = speed_m_s;
    monitors->has_speed = 1;
    monitors->speed_used++;
    if (monitors->has_imu && -behind_ns > SECOND_NS / 2) {
        monitors->once |= BIT(IMU_MISSING);
    }
    return MONITORS_USE;
}

static uint32_t raw_bits(const struct monitors_plan *plan, const struct monitors *monitors, bool still)
{
    const int64_t now_ns = monitors->imu_t_ns;
    const int64_t speed_ns = monitors->has_speed ? monitors->speed_t_ns : monitors->begun_ns;
    uint32_t raw = monitors->once;
    raw |= now_ns - speed_ns > SECOND_NS ? BIT(SPEED_MISSING) : 0;
    raw |= monitors->period_s > SLOWEST_S ? BIT(IMU_RATE) : 0;
    raw |= monitors->felt_m_s2 < FELT_LEAST_M_S2 || monitors->felt_m_s2 > FELT_MOST_M_S2 ? BIT(ACCEL_RANGE) : 0;
    raw |= still && monitors->still_rate_rad_s > 1.1 * plan->gyro_bias_range_rad_s ? BIT(GYRO_RANGE) : 0;
    raw |= monitors->conflict > 0.35 ? BIT(SPEED_CONFLICT) : 0;
    if (now_ns - monitors->imu_changed_ns >
            8 * SECOND_NS && /* an ideal IMU also repeats its values at constant acceleration */
        oto_fabs(monitors->speed_m_s - monitors->speed_when_imu_changed_m_s) > 3.0) {
        raw |= BIT(IMU_STUCK);
    }
    if (now_ns - monitors->speed_changed_ns > 2 * SECOND_NS && monitors->conflict > 0.2) {
        raw |= BIT(SPEED_STUCK);
    }
    return raw;
}

void monitors_review(const struct monitors_plan *plan, struct monitors *monitors, bool still, bool moving, bool refused)
{
    if (still) {
        monitors->still_rate_rad_s += 0.2 * (oto_vec3_norm(monitors->angular_rate_rad_s) - monitors->still_rate_rad_s);
    }
    if (moving) {
        monitors->conflict += 0.02 * ((refused ? 1.0 : 0.0) - monitors->conflict);
    }
    monitors->raw = raw_bits(plan, monitors, still);
    monitors->once = 0;
    for (uint32_t i = 0; i < OTO_CALIBRATION_MONITORS; i++) {
        int32_t *level = &monitors->level[i];
        *level += (monitors->raw >> i & 1u) != 0 ? 1 : -1;
        *level = *level < 0 ? 0 : *level > LEVEL_MOST ? LEVEL_MOST : *level;
        if (*level >= LEVEL_UP) {
            monitors->debounced |= 1u << i;
        } else if (*level == 0) {
            monitors->debounced &= ~(1u << i);
        }
    }
}
