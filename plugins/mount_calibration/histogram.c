#include "histogram.h"

#include <string.h>

#define SMOOTH_S 0.3
#define TURN_RAD_S 0.15
#define MOVING_M_S 2.0
#define REST_S 1.0
#define START_S 3.0 /* duration of a start in which blocks vote */
#define START_M_S2 0.5
#define START_RAD_S 0.05
#define BOUND_FLOOR_RAD (0.25 * OTO_DEG)
#define EPISODE_VOTES 20.0 /* votes of one turn or start, which count as one independent value */
#define GRAVITY_M_S2 9.80665

void histogram_init(struct histogram *histogram)
{
    memset(histogram, 0, sizeof *histogram);
}

/* ---- votes ------------------------------------------------------------------------------------------------------- */

static double width_of(const struct histogram_plan *plan, int which)
{
    return 2.0 * plan->range_rad[which] / (HISTOGRAM_BINS - 1);
}

static void decay(struct histogram_votes *votes, double by, double recent_by)
{
    for (int i = 0; i < HISTOGRAM_BINS; i++) {
        votes->votes[i] *= by;
        votes->recent[i] *= recent_by;
    }
    votes->total *= by;
    votes->recent_total *= recent_by;
    votes->outliers *= by;
}

/* Divides a vote between the two nearest bins, so that a peak is located more finely than a bin. */
void histogram_vote(const struct histogram_plan *plan, struct histogram *histogram, int which, double angle_rad)
{
    struct histogram_votes *votes = &histogram->of[which];
    const double at = (angle_rad + plan->range_rad[which]) / width_of(plan, which);
    decay(votes, plan->decay, plan->short_decay);
    votes->total += 1.0;
    votes->recent_total += 1.0;
    if (at >= 0.0 && at < HISTOGRAM_BINS - 1) {
        const int bin = (int)at;
        const double right = at - bin;
        votes->votes[bin] += 1.0 - right;
        votes->votes[bin + 1] += right;
        votes->recent[bin] += 1.0 - right;
        votes->recent[bin + 1] += right;
    } else {
        votes->outliers += 1.0;
    }
}

/* The rotation axis of a left or right turn is the vehicle's up axis; the roll on the springs is subtracted. */
static void vote_up(const struct histogram_plan *plan, struct histogram *histogram)
{
    oto_vec3 up = oto_quat_rotate(plan->q_nominal, oto_vec3_sub(histogram->rate_rad_s, histogram->rest_rate_rad_s));
    const double left_m_s2 = histogram->speed_m_s * up.z;
    if (!histogram->has_rest || oto_fabs(up.z) < TURN_RAD_S || oto_fabs(histogram->speed_m_s) < MOVING_M_S) {
        return;
    }
    up = oto_vec3_scale(up, up.z > 0.0 ? 1.0 : -1.0);
    histogram_vote(plan, histogram, HISTOGRAM_UP_INCLINATION,
                   oto_atan2(up.y, up.z) - plan->roll_compliance_rad_s2_m * left_m_s2);
    histogram_vote(plan, histogram, HISTOGRAM_UP_AZIMUTH, oto_atan2(-up.x, up.z));
    histogram->votes++;
}

/* At a start, the specific force minus that at rest points forward; the pitch on the springs is subtracted. */
static void vote_forward(const struct histogram_plan *plan, struct histogram *histogram)
{
    oto_vec3 rate = oto_vec3_sub(histogram->rate_rad_s, histogram->rest_rate_rad_s);
    oto_vec3 ahead = oto_quat_rotate(plan->q_nominal, oto_vec3_sub(histogram->accel_m_s2, histogram->rest_m_s2));
    const double lean = 1.0 - GRAVITY_M_S2 * plan->pitch_compliance_rad_s2_m;
    if (ahead.x < START_M_S2 || oto_vec3_norm(rate) > START_RAD_S) {
        return;
    }
    histogram_vote(plan, histogram, HISTOGRAM_FORWARD_INCLINATION,
                   oto_atan2(ahead.z, ahead.x) - plan->pitch_compliance_rad_s2_m * ahead.x / (lean * lean));
    histogram_vote(plan, histogram, HISTOGRAM_FORWARD_AZIMUTH, -oto_atan2(ahead.y, ahead.x));
    histogram->votes++;
}

/* ---- peaks ------------------------------------------------------------------------------------------------------- */

static double smoothed(const double votes[HISTOGRAM_BINS], int at)
{
    static const double weight[4] = {0.22, 0.19, 0.13, 0.07};
    double sum = weight[0] * votes[at];
    for (int k = 1; k < 4; k++) {
        sum += weight[k] * ((at >= k ? votes[at - k] : 0.0) + (at + k < HISTOGRAM_BINS ? votes[at + k] : 0.0));
    }
    return sum;
}

static int highest_bin(const double votes[HISTOGRAM_BINS], double *most)
{
    int best = 0;
    *most = 0.0;
    for (int i = 0; i < HISTOGRAM_BINS; i++) {
        double here = smoothed(votes, i);
        if (here > *most) {
            *most = here;
            best = i;
        }
    }
    return best;
}

/* Mean position of the votes within `half` bins of the highest bin. */
static double centre(const double votes[HISTOGRAM_BINS], int best, int half, double *inside)
{
    double sum = 0.0, weight = 0.0;
    for (int i = best - half; i <= best + half; i++) {
        if (i >= 0 && i < HISTOGRAM_BINS) {
            sum += votes[i] * i;
            weight += votes[i];
        }
    }
    *inside = weight;
    return weight > 0.0 ? sum / weight : best;
}

/* True if no bin above the noise exceeds the envelope of a single mode; such a bin would belong to another mode. */
static bool is_under_envelope(const struct histogram_plan *plan, const struct histogram_votes *votes, int which,
                              double at, double peak)
{
    const double sigma = plan->sigma_rad / width_of(plan, which);
    for (int i = 0; i < HISTOGRAM_BINS; i++) {
        const double off = (i - at) / sigma, here = smoothed(votes->votes, i);
        if (here > plan->noise_votes && here > 1.2 * peak * oto_exp(-0.5 * off * off)) {
            return false;
        }
    }
    return true;
}

static double spread_of(const struct histogram_plan *plan, const struct histogram_votes *votes, int which)
{
    const double width = width_of(plan, which), at = (votes->peak_rad + plan->range_rad[which]) / width;
    double sum = 0.0, weight = 0.0;
    for (int i = 0; i < HISTOGRAM_BINS; i++) {
        sum += votes->votes[i] * (i - at) * (i - at);
        weight += votes->votes[i];
    }
    return weight > 0.0 ? width * oto_sqrt(sum / weight) : plan->range_rad[which];
}

void histogram_find_peak(const struct histogram_plan *plan, struct histogram *histogram, int which)
{
    struct histogram_votes *votes = &histogram->of[which];
    const double width = width_of(plan, which);
    const int half = (int)(2.0 * plan->sigma_rad / width) + 1;
    double most, recent_most, inside, at;
    int best = highest_bin(votes->votes, &most);
    if (!(most > 0.0)) {
        return;
    }
    at = centre(votes->votes, best, half, &inside);
    votes->has_peak = 1;
    votes->max_votes = most;
    votes->peak_rad = at * width - plan->range_rad[which];
    votes->spread_rad = spread_of(plan, votes, which);
    votes->accepted =
        inside >= plan->min_votes && inside > 0.5 * votes->total && is_under_envelope(plan, votes, which, at, most);
    best = highest_bin(votes->recent, &recent_most);
    if (recent_most > 0.0) {
        votes->recent_peak_rad = centre(votes->recent, best, half, &inside) * width - plan->range_rad[which];
    }
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static void take_rest(struct histogram *histogram, double dt)
{
    const double by = dt / (histogram->rest_s + dt);
    histogram->rest_m_s2 = oto_vec3_lerp(histogram->rest_m_s2, histogram->accel_m_s2, by);
    histogram->rest_rate_rad_s = oto_vec3_lerp(histogram->rest_rate_rad_s, histogram->rate_rad_s, by);
    histogram->rest_s += dt;
    histogram->start_s = 0.0;
    histogram->has_rest |= histogram->rest_s > REST_S;
}

void histogram_push_block(const struct histogram_plan *plan, struct histogram *histogram,
                          const struct joint_block *block)
{
    const double dt = block->duration_s, by = block->breaks ? 1.0 : dt / (SMOOTH_S + dt);
    oto_vec3 rate = oto_vec3_add_scaled(block->gyro_bias_rad_s, block->turn_rad, 1.0 / dt);
    histogram->rate_rad_s = oto_vec3_lerp(histogram->rate_rad_s, rate, by);
    histogram->accel_m_s2 =
        oto_vec3_lerp(histogram->accel_m_s2, oto_vec3_scale(block->velocity_gain_m_s, 1.0 / dt), by);
    if (block->speeds > 0) {
        histogram->speed_m_s = block->speed_m_s;
    }
    if (block->still) {
        take_rest(histogram, dt);
        return;
    }
    vote_up(plan, histogram);
    if (histogram->has_rest && histogram->rest_s > REST_S) {
        histogram->start_s += dt;
        if (histogram->start_s < START_S && histogram->speed_m_s > 0.3) {
            vote_forward(plan, histogram);
        } else if (histogram->start_s >= START_S) {
            histogram->rest_s = 0.0;
        }
    }
    histogram_find_peak(plan, histogram, (int)histogram->refresh);
    histogram->refresh = (histogram->refresh + 1) % HISTOGRAM_COUNT;
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

/* A peak that the published rule does not accept has no bound below the range: the spread does not contain its outliers. */
static double bound_of(const struct histogram_plan *plan, const struct histogram_votes *votes, int which)
{
    const double episodes = (votes->total - votes->outliers) / EPISODE_VOTES, most = plan->range_rad[which];
    if (!votes->accepted) {
        return most;
    }
    const double bound = BOUND_FLOOR_RAD + 3.0 * votes->spread_rad / oto_sqrt(episodes > 1.0 ? episodes : 1.0);
    return bound < most ? bound : most;
}

/*
 * The forward direction was measured in axes that include the roll: it is rotated by the roll before pitch and yaw are
 * computed from it.
 */
static oto_quat mount_of(const double angle_rad[3])
{
    double sp, cp, sy, cy;
    oto_quat q_roll = oto_quat_from_rpy(angle_rad[0], 0.0, 0.0);
    oto_vec3 ahead;
    oto_sincos(angle_rad[1], &sp, &cp);
    oto_sincos(angle_rad[2], &sy, &cy);
    ahead = oto_quat_rotate(q_roll, oto_vec3_make(1.0, -sy / cy, sp / cp));
    return oto_quat_from_rpy(angle_rad[0], oto_atan2(ahead.z, ahead.x),
                             -oto_atan2(ahead.y, oto_hypot(ahead.x, ahead.z)));
}

bool histogram_result(const struct histogram_plan *plan, const struct histogram *histogram,
                      oto_quat *q_body_from_sensor, double bound_rad[3], double *progress)
{
    static const int source[3] = {HISTOGRAM_UP_INCLINATION, HISTOGRAM_FORWARD_INCLINATION, HISTOGRAM_FORWARD_AZIMUTH};
    double angle[3];
    bool accepted = true;
    *progress = 1.0;
    for (int i = 0; i < 3; i++) {
        const struct histogram_votes *votes = &histogram->of[source[i]];
        const double part = votes->total / plan->min_votes;
        angle[i] = votes->has_peak ? votes->peak_rad : 0.0;
        accepted = accepted && votes->accepted;
        *progress = part < *progress ? part : *progress;
        bound_rad[i] = bound_of(plan, votes, source[i]);
    }
    *q_body_from_sensor = oto_quat_mul(mount_of(angle), plan->q_nominal);
    return accepted;
}
