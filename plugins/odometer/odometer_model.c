#include "odometer_model.h"

#include <string.h>

#include "num_draws.h"
#include "num_pack.h"
#include "otolith/detmath.h"

void odometer_prepare(const struct odometer_params *params, double rate_hz, struct oto_rng_key noise_key,
                      struct odometer_plan *plan)
{
    *plan = (struct odometer_plan){
        .rate_hz = rate_hz,
        .period_s = 1.0 / rate_hz,
        .half_track_m = 0.5 * params->track_width_m,
        .wheelbase_m = params->wheelbase_m,
        .scale = 1.0 + params->scale_error_percent / 100.0,
        .noise_m_s = params->noise_m_s,
        .ticks_per_metre = params->ticks_per_metre,
        .resolution_m_s = params->resolution_m_s,
        .standstill_threshold_m_s = params->standstill_threshold_m_s,
        .delay_ns = (int64_t)oto_round_half_away(params->delay_ms * 1e6),
        .reports_reverse = params->reports_reverse != 0,
        .noise_key = noise_key,
    };
}

/* The speed of a steered front wheel along its own direction of travel, with the sign of the car's speed. */
static double front_speed_m_s(double rear_speed_m_s, double sideways_m_s)
{
    const double speed_m_s = oto_sqrt(rear_speed_m_s * rear_speed_m_s + sideways_m_s * sideways_m_s);
    return rear_speed_m_s < 0.0 ? -speed_m_s : speed_m_s;
}

static void true_speeds(const struct odometer_plan *plan, const struct odometer_truth *truth,
                        double speed_m_s[ODOMETER_SOURCES])
{
    const double turn_m_s = truth->yaw_rate_rad_s * plan->half_track_m;
    const double sideways_m_s = truth->yaw_rate_rad_s * plan->wheelbase_m;
    speed_m_s[ODOMETER_SPEED] = truth->speed_m_s;
    speed_m_s[ODOMETER_REAR_LEFT] = truth->speed_m_s - turn_m_s;
    speed_m_s[ODOMETER_REAR_RIGHT] = truth->speed_m_s + turn_m_s;
    speed_m_s[ODOMETER_FRONT_LEFT] = front_speed_m_s(speed_m_s[ODOMETER_REAR_LEFT], sideways_m_s);
    speed_m_s[ODOMETER_FRONT_RIGHT] = front_speed_m_s(speed_m_s[ODOMETER_REAR_RIGHT], sideways_m_s);
}

/* The speed that corresponds to the whole ticks of the pulse wheel in this period. */
static double count_ticks(const struct odometer_plan *plan, double *pulse, double speed_m_s)
{
    const double turned = *pulse + speed_m_s * plan->period_s * plan->ticks_per_metre;
    if (!(oto_fabs(turned) < 0x1p52)) { /* from 2^52 ticks on a double has no fraction */
        *pulse = 0.0;
        return speed_m_s;
    }
    double ticks = (double)(int64_t)turned;
    ticks -= ticks > turned ? 1.0 : 0.0;
    *pulse = turned - ticks;
    return ticks / plan->ticks_per_metre * plan->rate_hz;
}

static double measure_one(const struct odometer_plan *plan, double *pulse, double true_m_s, double deviate)
{
    if (oto_fabs(true_m_s) < plan->standstill_threshold_m_s) {
        return 0.0;
    }
    double speed_m_s = plan->scale * true_m_s + plan->noise_m_s * deviate;
    if (plan->ticks_per_metre > 0.0) {
        speed_m_s = count_ticks(plan, pulse, speed_m_s);
    }
    if (plan->resolution_m_s > 0.0) {
        speed_m_s = plan->resolution_m_s * num_round_half_away(speed_m_s / plan->resolution_m_s);
    }
    return plan->reports_reverse ? speed_m_s : oto_fabs(speed_m_s);
}

bool odometer_measure(const struct odometer_plan *plan, struct odometer_state *state,
                      const struct odometer_truth *truth, struct oto_odometry_record *record)
{
    double deviates[ODOMETER_SOURCES] = {0.0};
    double true_m_s[ODOMETER_SOURCES];
    double measured_m_s[ODOMETER_SOURCES];
    const double sum = truth->speed_m_s + truth->yaw_rate_rad_s;
    if (!(sum - sum == 0.0)) {
        return false;
    }
    true_speeds(plan, truth, true_m_s);
    if (plan->noise_m_s > 0.0) {
        oto_normals(plan->noise_key, truth->n, NUM_DRAW_ODOMETER, OTO_RNG_DOMAIN_SAMPLE, deviates, ODOMETER_SOURCES);
    }
    for (int i = 0; i < ODOMETER_SOURCES; i++) {
        measured_m_s[i] = measure_one(plan, &state->pulse[i], true_m_s[i], deviates[i]);
    }
    state->distance_m += measured_m_s[ODOMETER_SPEED] * plan->period_s;
    record->speed_m_s = measured_m_s[ODOMETER_SPEED];
    memcpy(record->wheel_speed_m_s, &measured_m_s[ODOMETER_FRONT_LEFT], sizeof record->wheel_speed_m_s);
    record->distance_m = state->distance_m;
    return true;
}
