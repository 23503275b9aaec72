/*
 * The gyroscope's noise and the wander of its bias, learned at rest. The filter takes the bias as a random walk. A part with
 * a bias instability wanders much more than its noise tells, and the filter must know this, or its bounds are too small. Before
 * the vehicle has rested, a part of about 30 °/h is assumed: an error that the filter believes in the first minutes stays for long.
 */
#include "joint_parts.h"

#define BLOCKS 20.0     /* weight of the assumed noise, as a number of blocks */
#define BLOCKS_MOST 1e4 /* with more blocks, old blocks lose weight */
#define NOISE_LEAST 0.4
#define WINDOW_S 1.0
#define SETTLED_S 1.5           /* time at rest after which the body no longer swings on its springs */
#define WHITE_MARGIN 1.1        /* noise that could be in the means of two windows, over its expected power */
#define SHOWN 4.0               /* moved by more than so many times its noise (0.7 % of pairs without wander), a pair shows wander */
#define ASSUMED_S 8.0           /* weight of the assumed wander, as a time */
#define ASSUMED_WANDER 3e-9     /* (rad/s)²/s; its Allan deviation at 10 s is 21 °/h, that of an instability of 31 °/h */
#define UNUSUAL 10.0            /* wander over the assumed one from which a gyroscope is not an ordinary one */
#define FORGET_S 1200.0         /* with more time, old windows lose weight */
#define MOVED_RAD_S 5e-3        /* a larger difference of two windows is a motion of the vehicle */
#define WANDER_LEAST 1e-11      /* (rad/s)²/s */
#define ROAD_LEAST 1e-9         /* limits of the wander that is learned on the road, (rad/s)²/s */
#define ROAD_MOST 1e-5
#define ROAD_LEARN 0.15         /* gain of one evaluation on its logarithm */
#define ROAD_RATIO_MOST 12.0
#define REST_RAD_S 2e-3         /* noise of a block at rest until the body has settled */
#define REST_LEAST_RAD_S 1e-4
#define REST_MARGIN 2.0         /* on the variance of a block at rest */

void joint_gyro_init(struct joint_gyro *gyro)
{
    *gyro = (struct joint_gyro){.since_window_s = -1.0, .road_wander = ROAD_LEAST};
}

void joint_gyro_carry(const struct joint_gyro *from, struct joint_gyro *gyro)
{
    gyro->noise_sum = from->noise_sum;
    gyro->blocks = from->blocks;
    gyro->wander_rad2_s2 = from->wander_rad2_s2;
    gyro->wander_s = from->wander_s;
    gyro->road_wander = from->road_wander;
}

void joint_gyro_break(struct joint_gyro *gyro)
{
    gyro->since_window_s = -1.0;
    gyro->window_s = 0.0;
    gyro->rest_s = 0.0;
}

void joint_gyro_pass(struct joint_gyro *gyro, bool still, double dt)
{
    gyro->since_window_s += gyro->since_window_s >= 0.0 ? dt : 0.0;
    gyro->rest_s = still ? gyro->rest_s + dt : 0.0;
    gyro->window_s = still ? gyro->window_s : 0.0;
}

/*
 * The square of the difference of two windows' means is the noise in both, plus the wander over the time between them; a
 * third of a window's own duration counts less, because the mean smooths it. A pair tells of the wander only as far as the
 * wander exceeds the noise: two seconds of one rest tell little of a part with much noise, two rests a minute apart do.
 */
static void compare_windows(struct joint_gyro *gyro, oto_vec3 rate_rad_s)
{
    const double moved_sq = oto_vec3_norm_sq(oto_vec3_sub(rate_rad_s, gyro->window_rate_rad_s)) / 3.0;
    const double white_sq = WHITE_MARGIN * 2.0 * gyro->noise_sum / (gyro->blocks * WINDOW_S);
    const double between_s = gyro->since_window_s - WINDOW_S / 3.0, learned = joint_gyro_wander(gyro);
    const double expected_sq = (learned > ASSUMED_WANDER ? learned : ASSUMED_WANDER) * between_s;
    const double weight = moved_sq > SHOWN * white_sq ? 1.0 : joint_squared(expected_sq / (expected_sq + white_sq));
    if (gyro->since_window_s < 0.0 || moved_sq > joint_squared(MOVED_RAD_S)) {
        return;
    }
    if (gyro->wander_s > FORGET_S) {
        gyro->wander_rad2_s2 *= 0.5;
        gyro->wander_s *= 0.5;
    }
    gyro->wander_rad2_s2 += weight * (moved_sq - white_sq);
    gyro->wander_s += weight * between_s;
}

static void learn_wander(struct joint_gyro *gyro, oto_vec3 rate_rad_s, double dt)
{
    gyro->window_turn_rad = oto_vec3_add_scaled(gyro->window_s > 0.0 ? gyro->window_turn_rad : oto_vec3_zero(), rate_rad_s, dt);
    gyro->window_s += dt;
    if (gyro->window_s > WINDOW_S - 0.5 * dt) {
        const oto_vec3 mean_rad_s = oto_vec3_scale(gyro->window_turn_rad, 1.0 / gyro->window_s);
        compare_windows(gyro, mean_rad_s);
        gyro->window_rate_rad_s = mean_rad_s;
        gyro->since_window_s = 0.0;
        gyro->window_s = 0.0;
    }
}

/* Learns from a block at rest. The difference of two successive blocks does not contain the bias. */
void joint_gyro_learn(struct joint_gyro *gyro, oto_vec3 rate_rad_s, double dt)
{
    const double seen = oto_vec3_norm_sq(oto_vec3_sub(rate_rad_s, gyro->block_rate_rad_s)) * dt / 6.0;
    gyro->block_rate_rad_s = rate_rad_s;
    if (!joint_gyro_has_settled(gyro)) {
        return;
    }
    if (gyro->blocks >= BLOCKS_MOST) {
        gyro->blocks *= 0.5;
        gyro->noise_sum *= 0.5;
    }
    gyro->blocks += 1.0;
    gyro->noise_sum += seen;
    learn_wander(gyro, rate_rad_s, dt);
}

bool joint_gyro_has_settled(const struct joint_gyro *gyro)
{
    return gyro->rest_s > SETTLED_S;
}

/* Variance of the mean rate of a block at rest about the bias. What swings at rest is in the learned noise. */
double joint_gyro_rest_variance(const struct joint_plan *plan, const struct joint_gyro *gyro, double dt)
{
    const double learned = (BLOCKS * joint_squared(plan->gyro_noise) + gyro->noise_sum) / (BLOCKS + gyro->blocks);
    return joint_gyro_has_settled(gyro) ? REST_MARGIN * learned / dt + joint_squared(REST_LEAST_RAD_S) : joint_squared(REST_RAD_S);
}

/*
 * The learned density of the noise, limited to the range from NOISE_LEAST² of the assumed one to the assumed one. The lower
 * limit is there because noise is larger on the road than at rest.
 */
double joint_gyro_noise(const struct joint_plan *plan, const struct joint_gyro *gyro)
{
    const double assumed = joint_squared(plan->gyro_noise), least = joint_squared(NOISE_LEAST) * assumed;
    const double learned = (BLOCKS * assumed + gyro->noise_sum) / (BLOCKS + gyro->blocks);
    return learned < least ? least : learned > assumed ? assumed : learned;
}

/*
 * A bias that wanders more than assumed turns the estimated gravity and velocity away from the true ones: the sideways
 * innovations of seconds add up instead of cancelling each other. A drive without rests shows the wander only in this way.
 */
void joint_gyro_learn_moving(struct joint_gyro *gyro, double ratio)
{
    const double power = gyro->road_wander * oto_exp(ROAD_LEARN * ((ratio < ROAD_RATIO_MOST ? ratio : ROAD_RATIO_MOST) - 1.0));
    gyro->road_wander = power < ROAD_LEAST ? ROAD_LEAST : power > ROAD_MOST ? ROAD_MOST : power;
}

double joint_gyro_unusual(const struct joint_gyro *gyro)
{
    const double above = (joint_gyro_wander(gyro) / ASSUMED_WANDER - 1.0) / (UNUSUAL - 1.0);
    return above < 0.0 ? 0.0 : above > 1.0 ? 1.0 : above;
}

/* Power of the random walk of the bias, (rad/s)²/s: the larger of those that are learned at rest and on the road. */
double joint_gyro_wander(const struct joint_gyro *gyro)
{
    const double learned = (ASSUMED_S * ASSUMED_WANDER + gyro->wander_rad2_s2) / (ASSUMED_S + gyro->wander_s);
    const double at_rest = learned > WANDER_LEAST ? learned : WANDER_LEAST;
    return at_rest > gyro->road_wander ? at_rest : gyro->road_wander;
}
