/* Counts the manoeuvres that were driven, and computes the progress of each. */
#include "verdict.h"

#define TURN_RAD_S 0.12
#define TURN_LEAST_RAD (40.0 * OTO_DEG)
#define START_M_S 0.7

static void note_turn(struct mountcal_driven *driven, const struct joint_filter *filter, double dt)
{
    const double rate = filter->yaw_rate_rad_s;
    if (oto_fabs(rate) > TURN_RAD_S && oto_fabs(filter->speed_m_s) > 1.0) {
        driven->turn_rad += rate * dt;
        return;
    }
    driven->turns_left += driven->turn_rad > TURN_LEAST_RAD;
    driven->turns_right += driven->turn_rad < -TURN_LEAST_RAD;
    driven->turn_rad = 0.0;
}

void mountcal_note_driven(struct mountcal_driven *driven, const struct joint_filter *filter,
                          const struct joint_block *block)
{
    if (block->still) {
        driven->stops += driven->was_still == 0 && driven->rest_s == 0.0;
        driven->rest_s += block->duration_s;
        driven->rests_s += block->duration_s;
        driven->brakes += driven->braking;
        driven->braking = 0;
        driven->starting = 1;
    } else if (driven->starting && oto_fabs(filter->speed_m_s) > START_M_S) {
        driven->begins_forward |= filter->speed_m_s > 0.0 && driven->starts + driven->reverses == 0;
        driven->starts += filter->speed_m_s > 0.0;
        driven->reverses += filter->speed_m_s < 0.0;
        driven->starting = 0;
        driven->rest_s = 0.0;
    }
    if (filter->accel_ahead_m_s2 < -0.8) {
        driven->braking = 1;
    } else if (filter->accel_ahead_m_s2 > 0.3 && driven->braking) {
        driven->brakes++;
        driven->braking = 0;
    }
    driven->was_still = block->still;
    note_turn(driven, filter, block->duration_s);
}

double mountcal_manoeuvre_progress(const struct mountcal_state *state, uint32_t manoeuvre)
{
    const struct mountcal_driven *driven = &state->driven;
    const double done[OTO_CALIBRATION_MANOEUVRES] = {
        [OTO_CALIBRATION_MANOEUVRE_STOP] = driven->rests_s / 10.0,
        [OTO_CALIBRATION_MANOEUVRE_FORWARD_START] = (double)driven->starts / 3.0,
        [OTO_CALIBRATION_MANOEUVRE_BRAKE] = (double)driven->brakes / 3.0,
        [OTO_CALIBRATION_MANOEUVRE_TURN_LEFT] = (double)driven->turns_left / 2.0,
        [OTO_CALIBRATION_MANOEUVRE_TURN_RIGHT] = (double)driven->turns_right / 2.0,
        [OTO_CALIBRATION_MANOEUVRE_DISTANCE] = state->verdict.percent / 100.0,
    };
    return done[manoeuvre] < 1.0 ? done[manoeuvre] : 1.0;
}
