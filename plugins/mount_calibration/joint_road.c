/*
 * Measurements of the roll from the road: on average the road is level across, and the axis of a corner is normal to the
 * surface. Equations: README.md.
 */
#include "joint_parts.h"

#define BANK_EACH_M 3.0
#define TURN_RAD_S 0.12
#define TURN_M_S 3.0 /* a slower vehicle is parking, not on a road */
#define TURN_LEAST_RAD (40.0 * OTO_DEG)
#define CORNER_M 35.0 /* a curve with a larger radius is a bend */
#define KEPT_CROWN 0.4
#define HALF_CORNER_M 40.0 /* radius at which half of the maximum loss of crown is reached */
#define TURN_SIGMA_RAD (0.6 * OTO_DEG)
#define GRADE_FIRST_RAD (2.0 * OTO_DEG)
#define GRADE_SEEN_M 500.0
#define ASIDE_RAD_S2_M (0.3 * OTO_DEG)

/* Learns the rms of the road's bank about its mean; the assumed rms has the weight of five independent places. */
static void learn_bank(const struct joint_plan *plan, struct joint_filter *filter, double roll_rad, double way_m)
{
    double mean, apart, places, seen;
    filter->bank_sum += roll_rad * way_m;
    filter->bank_square_sum += roll_rad * roll_rad * way_m;
    filter->bank_weight += way_m;
    places = filter->bank_weight / (2.0 * plan->road_length_m);
    if (places < 2.0) {
        return;
    }
    mean = filter->bank_sum / filter->bank_weight;
    apart = filter->bank_square_sum / filter->bank_weight - mean * mean;
    seen = apart * places / (places - 1.0);
    filter->bank_power = (5.0 * joint_squared(plan->bank_rad) + places * seen) / (5.0 + places);
}

static void learn_grade(struct joint_filter *filter, double grade_rad, double way_m)
{
    filter->grade_square_sum += joint_squared(grade_rad) * way_m;
    filter->grade_weight += way_m;
}

/* In a corner only the springs roll the body; in a bend the superelevation of the road does so as well. */
static bool is_corner(const struct joint_body *body)
{
    return oto_fabs(body->mean_rate_rad_s.z) * CORNER_M > oto_fabs(body->velocity_m_s.x);
}

static double crown_size(const struct joint_plan *plan) /* a constant, so that the kept crown is linear in the states */
{
    return oto_hypot(plan->crown_rad, plan->crown_sigma_rad);
}

/* Degree to which a curve is a corner: 0 on a straight road, almost 1 at a junction. */
static double cornering(const struct joint_body *body)
{
    const double turning = joint_squared(HALF_CORNER_M * body->mean_rate_rad_s.z);
    return turning / (turning + joint_squared(body->velocity_m_s.x) + 1.0);
}

/* The road is level across except for its varying bank and its mean, the crown, of which a corner keeps a share. */
void joint_measure_bank(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_body *body,
                        double way_m)
{
    const oto_vec3 g = oto_mat3_mul_vec(body->from_sensor, filter->gravity_m_s2);
    const double size = oto_vec3_norm(g), left = body->left_m_s2;
    const double noise =
        joint_squared(size) * (joint_squared(plan->vibration_rad + 0.05 * OTO_DEG) + joint_squared(ASIDE_RAD_S2_M * left));
    const double corner = plan->path == JOINT_FOLLOWS ? cornering(body) : 0.0, crown = 1.0 - (1.0 - KEPT_CROWN) * corner;
    const double kept = crown_size(plan) * corner;
    const int rolled_by = is_corner(body) ? JOINT_ROLL_COMPLIANCE : JOINT_SUPERELEVATION;
    const double roll_rad =
        *joint_extra(filter, JOINT_BANK) + crown * *joint_extra(filter, JOINT_CROWN) +
        kept * *joint_extra(filter, JOINT_KEPT_CROWN) + left * *joint_extra(filter, rolled_by);
    struct joint_row row = {0};
    joint_row_put3(&row, JOINT_GRAVITY, joint_row_of(&body->from_sensor, 1));
    joint_row_put(&row, JOINT_MOUNT, -g.z);
    joint_row_put(&row, JOINT_MOUNT + 2, g.x);
    joint_row_put(&row, JOINT_BANK, size);
    joint_row_put(&row, JOINT_CROWN, size * crown);
    joint_row_put(&row, JOINT_KEPT_CROWN, size * kept);
    joint_row_put(&row, rolled_by, size * left);
    if (joint_measure_row(plan, filter, JOINT_ROAD_BANK, &row, -(g.y + size * roll_rad), noise, 0.0) &&
        joint_sigma(filter, JOINT_MOUNT) < OTO_DEG) {
        learn_bank(plan, filter, *joint_extra(filter, JOINT_BANK), way_m);
    }
    learn_grade(filter, g.x / size, way_m);
}

/*
 * In a corner on a plane the vehicle turns about the normal of that plane. The z axis of the body is parallel to the
 * normal, except for the roll on the springs and the share of the crown that is kept, so the axis of the turn in sensor
 * axes shows the roll of the mount. The surface deviates from a plane by about as much as its grade.
 */
static void measure_turn(const struct joint_plan *plan, struct joint_filter *filter)
{
    const struct joint_turn turn = filter->turn;
    const double angle_rad = oto_fabs(turn.yaw_rad), left_m_s2 = turn.left_m_s / turn.yaw_rad;
    const double grade_sq = filter->grade_weight > GRADE_SEEN_M ? filter->grade_square_sum / filter->grade_weight
                                                                : joint_squared(GRADE_FIRST_RAD);
    const double noise = joint_squared(TURN_SIGMA_RAD) + 2.0 * grade_sq / joint_squared(angle_rad);
    const double predicted = KEPT_CROWN * *joint_extra(filter, JOINT_CROWN) + crown_size(plan) * *joint_extra(filter, JOINT_KEPT_CROWN) +
                             left_m_s2 * *joint_extra(filter, JOINT_ROLL_COMPLIANCE);
    const double innovation = turn.pitch_rad / turn.yaw_rad - predicted;
    struct joint_row row = {0};
    joint_row_put(&row, JOINT_MOUNT, 1.0);
    joint_row_put(&row, JOINT_CROWN, KEPT_CROWN);
    joint_row_put(&row, JOINT_KEPT_CROWN, crown_size(plan));
    joint_row_put(&row, JOINT_ROLL_COMPLIANCE, left_m_s2);
    if (innovation * innovation < 9.0 * (joint_row_variance(filter, &row) + noise)) {
        joint_update(filter, &row, innovation, noise);
        filter->turns++;
    }
}

/* Accumulates the current turn; when it ends, measures the roll if it was a corner. */
static void follow_turn(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                        const struct joint_body *body)
{
    struct joint_turn *turn = &filter->turn;
    const double yaw_rad = body->mean_rate_rad_s.z * block->duration_s;
    if (oto_fabs(body->mean_rate_rad_s.z) > TURN_RAD_S && body->velocity_m_s.x > TURN_M_S) {
        turn->yaw_rad += yaw_rad;
        turn->pitch_rad += body->mean_rate_rad_s.y * block->duration_s;
        turn->left_m_s += body->left_m_s2 * yaw_rad;
        turn->way_m += oto_fabs(body->velocity_m_s.x) * block->duration_s;
        return;
    }
    if (oto_fabs(turn->yaw_rad) > TURN_LEAST_RAD && turn->way_m < CORNER_M * oto_fabs(turn->yaw_rad) &&
        plan->path == JOINT_FOLLOWS) {
        measure_turn(plan, filter);
    }
    *turn = (struct joint_turn){0};
}

void joint_measure_road(const struct joint_plan *plan, struct joint_filter *filter, const struct joint_block *block,
                        const struct joint_body *body, double way_m)
{
    filter->since_bank_m += way_m;
    if (filter->since_bank_m > BANK_EACH_M) {
        joint_measure_bank(plan, filter, body, filter->since_bank_m);
        filter->since_bank_m = 0.0;
    }
    follow_turn(plan, filter, block, body);
}
