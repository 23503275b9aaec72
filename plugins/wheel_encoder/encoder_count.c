/* The rotation of a wheel, its edges, and the speed that a controller computes from them. */
#include "encoder_model.h"

#include "num_draws.h"
#include "otolith/detmath.h"

#define MOST_TICKS_A_PERIOD 1e9

/* ---- rotation ---- */

/*
 * Longitudinal slip: the tread of a wheel that transmits a force is faster (drive) or slower (braking) than the road.
 * kappa = slip * longitudinal specific force; all wheels brake, the driven ones drive.
 */
static double slipping(const struct encoder_plan *plan, const struct encoder_truth *truth, int wheel, double speed_m_s)
{
    const double way = speed_m_s < 0.0 ? -1.0 : 1.0;
    const double force_m_s2 = way * truth->longitudinal_m_s2; /* positive: the wheel drives */
    const bool transmits = force_m_s2 < 0.0 || plan->is_driven[wheel];
    return transmits ? speed_m_s * (1.0 + plan->slip_s2_m * force_m_s2) : speed_m_s;
}

/*
 * A front wheel points along the velocity of its contact point, minus the slip angle that its lateral force requires. A
 * rear wheel points along the body.
 */
void encoder_tread_speeds(const struct encoder_plan *plan, const struct encoder_truth *truth,
                          double speed_m_s[ENCODER_WHEELS])
{
    const double cos_slip = oto_cos(plan->side_slip_rad_s2_m * truth->lateral_m_s2);
    for (int wheel = 0; wheel < ENCODER_WHEELS; wheel++) {
        const bool is_left = wheel == ENCODER_FRONT_LEFT || wheel == ENCODER_REAR_LEFT;
        const bool is_front = wheel == ENCODER_FRONT_LEFT || wheel == ENCODER_FRONT_RIGHT;
        const double turn_m_s = truth->yaw_rate_rad_s * plan->true_half_track_m;
        double along_m_s = truth->velocity_body_m_s.x + (is_left ? -turn_m_s : turn_m_s);
        if (is_front) {
            const double across_m_s =
                truth->velocity_body_m_s.y + truth->yaw_rate_rad_s * plan->params.wheelbase_m;
            const double total_m_s = oto_hypot(along_m_s, across_m_s) * cos_slip;
            along_m_s = along_m_s < 0.0 ? -total_m_s : total_m_s;
        }
        speed_m_s[wheel] = slipping(plan, truth, wheel, along_m_s);
    }
}

/* ---- edges ---- */

/* The number of edges until the next missed one: a geometric random number, drawn from the wheel and the number of the miss. */
static uint64_t until_next_miss(const struct encoder_plan *plan, uint32_t wheel, uint64_t misses)
{
    const oto_philox_block block =
        oto_rng_block(plan->noise_key, misses, 0, NUM_DRAW_MISSED_TICKS, OTO_RNG_DOMAIN_SAMPLE);
    const double edges = oto_log(oto_u01(block.v[wheel])) / plan->log_kept;
    return edges < 1e18 ? (uint64_t)edges : (uint64_t)1 << 60;
}

/* The number of edges that the encoder detects of `edges` that pass it. */
static uint64_t seen_of(const struct encoder_plan *plan, struct encoder_wheel *wheel, uint32_t index, uint64_t edges)
{
    uint64_t left = edges, seen = 0;
    if (plan->log_kept == 0.0) {
        return edges;
    }
    if (wheel->misses == 0) {
        wheel->until_miss = until_next_miss(plan, index, 0);
        wheel->misses = 1;
    }
    while (left > wheel->until_miss) {
        seen += wheel->until_miss;
        left -= wheel->until_miss + 1;
        wheel->until_miss = until_next_miss(plan, index, wheel->misses++);
    }
    wheel->until_miss -= left;
    return seen + left;
}

struct encoder_edges encoder_turn(const struct encoder_plan *plan, struct encoder_wheel *wheel, uint32_t index,
                                  double tread_m_s)
{
    struct encoder_edges edges = {0, 0.0};
    const double now_ticks_s = tread_m_s * plan->true_ticks_per_m[index];
    double turned = 0.5 * (wheel->speed_ticks_s + now_ticks_s) * plan->period_s;
    turned = turned > MOST_TICKS_A_PERIOD ? MOST_TICKS_A_PERIOD : turned < -MOST_TICKS_A_PERIOD ? -MOST_TICKS_A_PERIOD : turned;
    const double total = wheel->rotation + turned;
    int64_t passed = (int64_t)total;
    passed -= (double)passed > total;
    wheel->rotation = total - (double)passed;
    wheel->speed_ticks_s = now_ticks_s;
    if (passed != 0) {
        const uint64_t seen = seen_of(plan, wheel, index, (uint64_t)(passed < 0 ? -passed : passed));
        const double beyond = passed > 0 ? wheel->rotation : 1.0 - wheel->rotation; /* ticks since the last edge */
        const double last_s = oto_fabs(now_ticks_s) > 0.0 ? beyond / oto_fabs(now_ticks_s) : 0.0;
        edges.seen = passed < 0 ? -(int64_t)seen : (int64_t)seen;
        edges.last_s = last_s < plan->period_s ? last_s : plan->period_s;
    }
    return edges;
}

/* ---- speed ---- */

static double on_timer(const struct encoder_plan *plan, double seconds)
{
    const double step_s = plan->params.timer_resolution_ns * 1e-9;
    return step_s > 0.0 ? step_s * oto_round_half_away(seconds / step_s) : seconds;
}

/* The speed from edges: ticks divided by the time from the last edge of the previous speed to the last edge of this one. */
static double from_pulses(const struct encoder_plan *plan, struct encoder_wheel *wheel, double ticks, double last_s)
{
    const double span_s = on_timer(plan, wheel->since_edge_s + plan->period_s - last_s);
    wheel->since_edge_s = last_s;
    wheel->silent_s = last_s;
    return span_s > 0.0 ? ticks * plan->metres_per_tick / span_s : wheel->reported_m_s;
}

/* The speed without a new edge: at most the speed that one edge at this instant would give. */
static double from_silence(const struct encoder_plan *plan, struct encoder_wheel *wheel)
{
    wheel->since_edge_s += plan->period_s;
    wheel->silent_s += plan->period_s;
    if (wheel->silent_s >= plan->params.standstill_s) { /* standstill: the next edge has no previous edge for a time difference */
        wheel->since_edge_s = plan->params.standstill_s;
        return 0.0;
    }
    const double most_m_s = plan->metres_per_tick / wheel->since_edge_s;
    return wheel->reported_m_s < most_m_s ? wheel->reported_m_s : most_m_s;
}

double encoder_speed(const struct encoder_plan *plan, struct encoder_wheel *wheel, const struct encoder_edges *edges)
{
    const double ticks = oto_fabs((double)edges->seen);
    if (plan->params.timing == ENCODER_WINDOW) {
        wheel->reported_m_s = ticks * plan->metres_per_tick / plan->period_s;
    } else {
        wheel->reported_m_s = ticks > 0.0 ? from_pulses(plan, wheel, ticks, edges->last_s) : from_silence(plan, wheel);
    }
    return wheel->reported_m_s;
}
