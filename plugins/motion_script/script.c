#include "script.h"

#include <string.h>

#include "num_catr.h"

struct jet {
    double value, first, second; /* with respect to s */
};

static struct jet polynomial(const double c[SCRIPT_DEGREE + 1], double s)
{
    struct jet p = {c[SCRIPT_DEGREE], 0.0, 0.0};
    for (int i = SCRIPT_DEGREE - 1; i >= 0; i--) {
        p.second = p.second * s + 2.0 * p.first;
        p.first = p.first * s + p.value;
        p.value = p.value * s + c[i];
    }
    return p;
}

static double polynomial_value(const double c[SCRIPT_DEGREE + 1], double s)
{
    double p = c[SCRIPT_DEGREE];
    for (int i = SCRIPT_DEGREE - 1; i >= 0; i--)
        p = p * s + c[i];
    return p;
}

/* ∫₀ˢ of the polynomial. */
static double polynomial_integral(const double c[SCRIPT_DEGREE + 1], double s)
{
    double p = c[SCRIPT_DEGREE] / (SCRIPT_DEGREE + 1);
    for (int i = SCRIPT_DEGREE - 1; i >= 0; i--)
        p = p * s + c[i] / (double)(i + 1);
    return p * s;
}

static struct script_xy straight_position(const struct script_piece *piece, double s)
{
    double sine, cosine, distance_m = piece->duration_s * polynomial_integral(piece->speed_m_s, s);
    oto_sincos(piece->heading_rad[0], &sine, &cosine);
    return (struct script_xy){piece->start_m.x_m + distance_m * cosine, piece->start_m.y_m + distance_m * sine};
}

static struct script_xy catr_position(const struct script_piece *piece, double s)
{
    struct num_catr state = {piece->start_m.x_m,
                             piece->start_m.y_m,
                             piece->speed_m_s[0],
                             piece->speed_m_s[1] / piece->duration_s,
                             piece->heading_rad[0],
                             piece->heading_rad[1] / piece->duration_s};
    num_catr_predict(&state, s * piece->duration_s, &state);
    return (struct script_xy){state.x_m, state.y_m};
}

/* From the knot before s, by Gauss–Legendre with three nodes: its error is below 1e-12 m at 25 ms between knots. */
static struct script_xy curved_position(const struct script_piece *piece, double s)
{
    static const double node[3] = {0.11270166537925831, 0.5, 0.88729833462074169};
    static const double weight[3] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
    uint32_t knot = (uint32_t)(s * (double)piece->knot_count);
    struct script_xy at;
    double s0, width;
    if (knot >= piece->knot_count)
        knot = piece->knot_count - 1;
    at = piece->knots[knot];
    s0 = (double)knot / (double)piece->knot_count;
    width = s - s0;
    for (int i = 0; i < 3; i++) {
        double sine, cosine, u = s0 + width * node[i];
        double step_m = weight[i] * width * piece->duration_s * polynomial_value(piece->speed_m_s, u);
        oto_sincos(polynomial_value(piece->heading_rad, u), &sine, &cosine);
        at.x_m += step_m * cosine;
        at.y_m += step_m * sine;
    }
    return at;
}

struct script_xy script_piece_position(const struct script_piece *piece, double s)
{
    static struct script_xy (*const position[])(const struct script_piece *, double) = {
        [SCRIPT_STRAIGHT] = straight_position, [SCRIPT_CATR] = catr_position, [SCRIPT_CURVED] = curved_position};
    return position[piece->shape](piece, s);
}

/* What is true at one instant of one lap, before the lap's own turn and place. */
struct instant {
    struct script_xy at_m;
    double speed_m_s, accel_m_s2;
    double heading_rad, turn_rate_rad_s, turn_accel_rad_s2;
};

static void instant_in_piece(const struct script_piece *piece, double tau_s, struct instant *now)
{
    double rate = 1.0 / piece->duration_s, s = tau_s * rate;
    struct jet speed = polynomial(piece->speed_m_s, s), heading = polynomial(piece->heading_rad, s);
    now->at_m = script_piece_position(piece, s);
    now->speed_m_s = speed.value;
    now->accel_m_s2 = speed.first * rate;
    now->heading_rad = heading.value;
    now->turn_rate_rad_s = heading.first * rate;
    now->turn_accel_rad_s2 = heading.second * rate * rate;
}

/* Straight on, at the last speed. */
static void instant_after_end(const struct script *script, double tau_s, struct instant *now)
{
    double sine, cosine, distance_m = script->end_speed_m_s * tau_s;
    oto_sincos(script->end_heading_rad, &sine, &cosine);
    memset(now, 0, sizeof *now);
    now->at_m = (struct script_xy){script->end_m.x_m + distance_m * cosine, script->end_m.y_m + distance_m * sine};
    now->speed_m_s = script->end_speed_m_s;
    now->heading_rad = script->end_heading_rad;
}

static const struct script_piece *piece_at(const struct script *script, int64_t t_ns)
{
    uint32_t low = 0, high = script->piece_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (script->pieces[middle].start_ns <= t_ns)
            low = middle;
        else
            high = middle;
    }
    return &script->pieces[low];
}

/*
 * Lap n is lap 0 turned by n·turn about the start and moved by Σ_{k<n} R(k·turn) d, where d leads from start to end;
 * the sum is sin(n·turn/2)/sin(turn/2) R((n-1)·turn/2) d.
 */
static void move_to_lap(const struct script *script, double n, struct instant *now)
{
    double x0 = script->start.position_enu_m.x, y0 = script->start.position_enu_m.y;
    double dx = script->end_m.x_m - x0, dy = script->end_m.y_m - y0;
    double rx = now->at_m.x_m - x0, ry = now->at_m.y_m - y0;
    double turn_rad, sine, cosine, sn, cn, s1, c1, gain;
    if (script->lap_turn_rad == 0.0) {
        now->at_m.x_m += n * dx;
        now->at_m.y_m += n * dy;
        return;
    }
    turn_rad = oto_wrap_pi(n * script->lap_turn_rad);
    oto_sincos(turn_rad, &sine, &cosine);
    oto_sincos(0.5 * n * script->lap_turn_rad, &sn, &cn);
    oto_sincos(0.5 * script->lap_turn_rad, &s1, &c1);
    gain = sn / s1;
    now->at_m.x_m = x0 + rx * cosine - ry * sine;
    now->at_m.y_m = y0 + rx * sine + ry * cosine;
    /* R((n-1)·turn/2): the half turn of n laps less that of one. */
    cosine = cn * c1 + sn * s1;
    sine = sn * c1 - cn * s1;
    now->at_m.x_m += gain * (dx * cosine - dy * sine);
    now->at_m.y_m += gain * (dx * sine + dy * cosine);
    now->heading_rad += turn_rad;
}

static void truth_of(const struct instant *now, double height_m, struct oto_truth_record *truth)
{
    double half_s, half_c, s, c, v = now->speed_m_s, a = now->accel_m_s2, a_left = v * now->turn_rate_rad_s;
    oto_sincos(0.5 * now->heading_rad, &half_s, &half_c);
    s = 2.0 * half_s * half_c;
    c = 1.0 - 2.0 * half_s * half_s;
    memset(truth, 0, sizeof *truth);
    truth->position_enu_m = oto_vec3_make(now->at_m.x_m, now->at_m.y_m, height_m);
    truth->velocity_enu_m_s = oto_vec3_make(v * c, v * s, 0.0);
    truth->accel_enu_m_s2 = oto_vec3_make(a * c - a_left * s, a * s + a_left * c, 0.0);
    truth->q_enu_from_body = oto_quat_make(half_c, 0.0, 0.0, half_s);
    truth->angular_rate_body_rad_s.z = now->turn_rate_rad_s;
    truth->angular_accel_body_rad_s2.z = now->turn_accel_rad_s2;
    truth->longitudinal_speed_m_s = v;
}

void script_evaluate(const struct script *script, int64_t t_ns, double sub_ns, struct oto_truth_record *truth)
{
    int64_t lap = script->repeat ? t_ns / script->period_ns : 0;
    int64_t in_lap_ns = t_ns - lap * script->period_ns;
    struct instant now;
    if (in_lap_ns >= script->period_ns) {
        instant_after_end(script, ((double)(in_lap_ns - script->period_ns) + sub_ns) * 1e-9, &now);
    } else {
        const struct script_piece *piece = piece_at(script, in_lap_ns);
        instant_in_piece(piece, ((double)(in_lap_ns - piece->start_ns) + sub_ns) * 1e-9, &now);
    }
    if (lap > 0)
        move_to_lap(script, (double)lap, &now);
    truth_of(&now, script->start.position_enu_m.z, truth);
}
