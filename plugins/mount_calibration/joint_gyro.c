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
#define WHITE_MARGIN 1.1        /* noise that could be in the mean of a window, over its expected power */
#define POWER_LEAST 1e-10       /* the first candidate, (rad/s)²/s; each further one is larger by POWER_STEP */
#define POWER_STEP 3.1622776601683795
#define POWER_PRIOR 0.8         /* before any rest, each further candidate is less probable by POWER_STEP to this power */
#define OFF_MOST 25.0           /* limit of a squared distance over its variance: one jolt at rest tells little */
#define PAUSE_WEIGHT 10.0       /* weight of a prediction from rest to rest, in those within a rest, where flicker is told from wander */
#define FLICKERS 5e-8           /* (rad/s)²/s: a smaller power counts as the seconds show it */
#define WINDOWS_MOST 600.0      /* weight of the older windows, as a number of windows */
#define EARTH_SQ 2.5e-9         /* (rad/s)²: between two rests the car turns, and with it the earth's rotation in the rates */
#define ASSUMED_WANDER 3e-9     /* (rad/s)²/s; its Allan deviation at 10 s is 21 °/h, that of an instability of 31 °/h */
#define UNUSUAL 10.0            /* wander over the assumed one from which a gyroscope is not an ordinary one */
#define MOVED_RAD_S 5e-3        /* a larger difference of two windows is a motion of the vehicle */
#define ROAD_LEAST 3e-10        /* limits of the wander that is learned on the road, (rad/s)²/s */
#define ROAD_MOST 1e-5
#define ROAD_LEARN 0.15         /* gain of one evaluation on its logarithm */
#define ROAD_RATIO_MOST 12.0
#define REST_RAD_S 2e-3         /* noise of a block at rest until the body has settled */
#define REST_LEAST_RAD_S 1e-4
#define REST_MARGIN 2.0         /* on the variance of a block at rest */

void joint_gyro_init(struct joint_gyro *gyro)
{
    *gyro = (struct joint_gyro){.since_window_s = -1.0, .road_wander = ASSUMED_WANDER};
    for (int i = 0; i < JOINT_POWERS; i++) {
        gyro->powers[i].likelihood = gyro->powers[i].apart_likelihood = -POWER_PRIOR * i * oto_log(POWER_STEP);
    }
}

void joint_gyro_carry(const struct joint_gyro *from, struct joint_gyro *gyro)
{
    gyro->noise_sum = from->noise_sum;
    gyro->blocks = from->blocks;
    gyro->road_wander = from->road_wander;
    gyro->rest_wander = from->rest_wander;
    for (int i = 0; i < JOINT_POWERS; i++) {
        gyro->powers[i].likelihood = from->powers[i].likelihood;
        gyro->powers[i].apart_likelihood = from->powers[i].apart_likelihood;
    }
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

/* The mean of the candidates, weighted by their probabilities. */
static double mean_power(const double likelihoods[JOINT_POWERS])
{
    double most = likelihoods[0], power = POWER_LEAST, sum = 0.0, weights = 0.0;
    for (int i = 1; i < JOINT_POWERS; i++) {
        most = likelihoods[i] > most ? likelihoods[i] : most;
    }
    for (int i = 0; i < JOINT_POWERS; i++, power *= POWER_STEP) {
        const double weight = oto_exp(likelihoods[i] - most);
        weights += weight;
        sum += weight * power;
    }
    return sum / weights;
}

/*
 * Flicker moves much more from second to second than a random walk that moves as far from rest to rest. A large power is
 * therefore judged with more weight on the pauses between rests, but never taken for less than FLICKERS.
 */
static double rest_wander(const struct joint_gyro *gyro)
{
    double likelihoods[JOINT_POWERS], apart_likelihoods[JOINT_POWERS];
    for (int i = 0; i < JOINT_POWERS; i++) {
        likelihoods[i] = gyro->powers[i].likelihood;
        apart_likelihoods[i] = gyro->powers[i].apart_likelihood;
    }
    const double by_seconds = mean_power(likelihoods), apart = mean_power(apart_likelihoods);
    return by_seconds < FLICKERS ? by_seconds : apart < FLICKERS ? FLICKERS : apart;
}

/*
 * Each candidate of the power follows the bias from window to window with a filter of its own. How well it predicts the next
 * window, in the same rest or in a later one, makes it more or less probable.
 */
static void weigh_powers(struct joint_gyro *gyro, oto_vec3 rate_rad_s, bool follows)
{
    const double white_sq = WHITE_MARGIN * gyro->noise_sum / (gyro->blocks * WINDOW_S);
    const double between_s = gyro->since_window_s - WINDOW_S / 3.0; /* the mean of a window smooths its own wander */
    const bool paused = gyro->since_window_s > 1.5 * WINDOW_S;
    const double turned_sq = paused ? EARTH_SQ : 0.0;
    double power = POWER_LEAST;
    for (int i = 0; i < JOINT_POWERS; i++, power *= POWER_STEP) {
        struct joint_power *at = &gyro->powers[i];
        const oto_vec3 off_rad_s = oto_vec3_sub(rate_rad_s, at->rate_rad_s);
        const double predicted = at->variance + power * between_s + turned_sq, total = predicted + white_sq;
        const double ratio = oto_vec3_norm_sq(off_rad_s) / total, gain = follows ? predicted / total : 1.0;
        if (follows) {
            const double unlikely = 0.5 * (3.0 * oto_log(total) + (ratio < OFF_MOST ? ratio : OFF_MOST));
            at->likelihood = (1.0 - 1.0 / WINDOWS_MOST) * at->likelihood - unlikely;
            at->apart_likelihood = (1.0 - 1.0 / WINDOWS_MOST) * at->apart_likelihood - (paused ? PAUSE_WEIGHT : 1.0) * unlikely;
        }
        at->rate_rad_s = oto_vec3_add_scaled(at->rate_rad_s, off_rad_s, gain);
        at->variance = gain * white_sq;
    }
    gyro->rest_wander = rest_wander(gyro);
}

static void learn_wander(struct joint_gyro *gyro, oto_vec3 rate_rad_s, double dt)
{
    gyro->window_turn_rad = oto_vec3_add_scaled(gyro->window_s > 0.0 ? gyro->window_turn_rad : oto_vec3_zero(), rate_rad_s, dt);
    gyro->window_s += dt;
    if (gyro->window_s > WINDOW_S - 0.5 * dt) {
        const oto_vec3 mean_rad_s = oto_vec3_scale(gyro->window_turn_rad, 1.0 / gyro->window_s);
        const double moved_sq = oto_vec3_norm_sq(oto_vec3_sub(mean_rad_s, gyro->window_rate_rad_s)) / 3.0;
        weigh_powers(gyro, mean_rad_s, gyro->since_window_s >= 0.0 && moved_sq < joint_squared(MOVED_RAD_S));
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
    return gyro->rest_wander > gyro->road_wander ? gyro->rest_wander : gyro->road_wander;
}
