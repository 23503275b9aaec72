#include "script.h"

#include <string.h>

#define KNOT_INTERVAL_S 0.025
#define LONGEST_S 1e8            /* of a whole script: 3 years */
#define LANE_CHANGE_MAX_RAD 0.8  /* a car that turns farther off its lane is turning, not changing lanes */
#define CURVED_LONGEST_S 600.0   /* bounds the knots of one piece */

/*
 * Shapes over s in [0, 1]: the quintic smoothstep 10s³ - 15s⁴ + 6s⁵ brings an acceleration up, with first and second
 * derivative zero at both ends; these are its integral, that of one minus it, and a line.
 */
static const double ramp_up[SCRIPT_DEGREE + 1] = {0.0, 0.0, 0.0, 0.0, 2.5, -3.0, 1.0};
static const double ramp_down[SCRIPT_DEGREE + 1] = {0.0, 1.0, 0.0, 0.0, -2.5, 3.0, -1.0};
static const double steady[SCRIPT_DEGREE + 1] = {0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
/* 64 s³(1 - s)³: up to one and back; heading of a lane change. */
static const double bump[SCRIPT_DEGREE + 1] = {0.0, 0.0, 0.0, 64.0, -192.0, 192.0, -64.0};

struct planner {
    struct script *script;
    script_alloc *alloc;
    void *alloc_context;
    struct oto_error *error;
    uint32_t segment;  /* being planned */
    int64_t t_ns;      /* end of what is planned */
    double speed_m_s, heading_rad;
    struct script_xy at_m;
};

/* speed = speed_m_s + speed_gain · speed_shape(s), the heading alike; gains are over the whole piece's unit of s. */
struct change {
    double speed_gain_m_s;
    const double *speed_shape;
    double heading_gain_rad;
    const double *heading_shape;
};

static enum oto_status no_memory(struct planner *p)
{
    return oto_fail(p->error, OTO_NO_MEMORY, "segments[%u]: out of memory", p->segment);
}

static void shape_polynomial(double c[SCRIPT_DEGREE + 1], double start, double gain, const double *shape)
{
    for (int i = 0; i <= SCRIPT_DEGREE; i++)
        c[i] = shape != NULL ? gain * shape[i] : 0.0;
    c[0] += start;
}

static double sum(const double c[SCRIPT_DEGREE + 1])
{
    double total = 0.0;
    for (int i = 0; i <= SCRIPT_DEGREE; i++)
        total += c[i];
    return total;
}

static enum script_shape shape_of(const struct change *change)
{
    if (change->heading_shape == NULL)
        return SCRIPT_STRAIGHT;
    if (change->heading_shape == steady && (change->speed_shape == NULL || change->speed_shape == steady))
        return SCRIPT_CATR;
    return SCRIPT_CURVED;
}

/* Knots are filled one after the other: each is the end of the interval before it. */
static enum oto_status lay_knots(struct planner *p, struct script_piece *piece)
{
    uint32_t count = (uint32_t)(piece->duration_s / KNOT_INTERVAL_S) + 1;
    struct script_xy *knots = p->alloc(p->alloc_context, count * sizeof *knots);
    if (knots == NULL)
        return no_memory(p);
    piece->knots = knots;
    piece->knot_count = count;
    knots[0] = piece->start_m;
    for (uint32_t i = 1; i < count; i++) {
        /* Just below the knot, so that the interval before it is the one that is used. */
        double s = (double)i / (double)count;
        struct script_piece part = *piece;
        part.knots = knots;
        while ((uint32_t)(s * (double)count) >= i)
            s -= s * 0x1p-52;
        knots[i] = script_piece_position(&part, s);
    }
    return OTO_OK;
}

/* Appends a piece of duration_ns and moves the planner to its end. Nothing for zero time. */
static enum oto_status add_piece(struct planner *p, int64_t duration_ns, const struct change *change)
{
    struct script *script = p->script;
    struct script_piece *piece = &script->pieces[script->piece_count];
    enum oto_status status = OTO_OK;
    if (duration_ns <= 0)
        return OTO_OK;
    piece->start_ns = p->t_ns;
    piece->duration_s = (double)duration_ns * 1e-9;
    piece->shape = shape_of(change);
    piece->start_m = p->at_m;
    shape_polynomial(piece->speed_m_s, p->speed_m_s, change->speed_gain_m_s, change->speed_shape);
    shape_polynomial(piece->heading_rad, p->heading_rad, change->heading_gain_rad, change->heading_shape);
    if (piece->shape == SCRIPT_CURVED)
        status = lay_knots(p, piece);
    if (status != OTO_OK)
        return status;
    script->piece_count++;
    p->at_m = script_piece_position(piece, 1.0);
    p->t_ns += duration_ns;
    p->speed_m_s = sum(piece->speed_m_s);
    p->heading_rad = sum(piece->heading_rad);
    return OTO_OK;
}

static int64_t ns_of(double seconds)
{
    return (int64_t)oto_round_half_away(seconds * 1e9);
}

/*
 * A quantity that grows by `total` at the rate `peak`, which comes up and goes down within ramp_s: up, steady, down.
 * Where the total is too small for the peak, there is no steady part and the peak is lower.
 */
static enum oto_status add_pulse(struct planner *p, double total, double peak, double ramp_s, bool of_heading)
{
    const double *const shapes[3] = {ramp_up, steady, ramp_down};
    double steady_s = oto_fabs(total / peak) - ramp_s, rate;
    int64_t ramp_ns = ns_of(ramp_s), steady_ns;
    int64_t durations_ns[3];
    enum oto_status status = OTO_OK;
    if (!(steady_s < LONGEST_S))
        return oto_fail(p->error, OTO_RANGE, "segments[%u]: it takes longer than %g s", p->segment, LONGEST_S);
    steady_ns = steady_s > 0.0 ? ns_of(steady_s) : 0;
    rate = total / ((double)(ramp_ns + steady_ns) * 1e-9);
    durations_ns[0] = durations_ns[2] = ramp_ns;
    durations_ns[1] = steady_ns;
    for (int i = 0; i < 3 && status == OTO_OK; i++) {
        double gain = rate * (double)durations_ns[i] * 1e-9;
        struct change change = {0.0, NULL, 0.0, NULL};
        if (of_heading)
            change = (struct change){0.0, NULL, gain, shapes[i]};
        else
            change = (struct change){gain, shapes[i], 0.0, NULL};
        status = add_piece(p, durations_ns[i], &change);
    }
    return status;
}

static enum oto_status reach_speed(struct planner *p, const struct script_segment *g, double to_speed_m_s)
{
    enum oto_status status = OTO_OK;
    if (to_speed_m_s != p->speed_m_s)
        status = add_pulse(p, to_speed_m_s - p->speed_m_s, g->accel_m_s2, g->ramp_s, false);
    p->speed_m_s = to_speed_m_s; /* exactly, not within rounding: a standstill is a standstill */
    return status;
}

static enum oto_status plan_cruise(struct planner *p, const struct script_segment *g)
{
    const struct change none = {0.0, NULL, 0.0, NULL};
    if (!(g->duration_s > 0.0))
        return oto_fail(p->error, OTO_INVALID, "segments[%u]: a cruise needs a duration_s above 0", p->segment);
    return add_piece(p, ns_of(g->duration_s), &none);
}

/* `sign` of the change of |speed|: 1 to accelerate, -1 to brake. */
static enum oto_status plan_speed_change(struct planner *p, const struct script_segment *g, const char *kind, double sign)
{
    double to_speed_m_s = g->to_speed_m_s;
    bool reverse = p->speed_m_s < 0.0 || (p->speed_m_s == 0.0 && g->to_speed_m_s < 0.0);
    if (g->duration_s > 0.0) {
        double gain_m_s = sign * g->accel_m_s2 * (g->duration_s - g->ramp_s);
        if (g->duration_s < 2.0 * g->ramp_s)
            return oto_fail(p->error, OTO_INVALID,
                            "segments[%u]: duration_s %g is too short for two ramps of ramp_s %g; give at least %g",
                            p->segment, g->duration_s, g->ramp_s, 2.0 * g->ramp_s);
        to_speed_m_s = p->speed_m_s + (reverse ? -gain_m_s : gain_m_s);
    }
    if (sign * (oto_fabs(to_speed_m_s) - oto_fabs(p->speed_m_s)) <= 0.0 || to_speed_m_s * p->speed_m_s < 0.0)
        return oto_fail(p->error, OTO_INVALID,
                        "segments[%u]: %s leads from %g m/s to %g m/s; it takes a to_speed_m_s %s %g in the same "
                        "direction, or a duration_s",
                        p->segment, kind, p->speed_m_s, to_speed_m_s, sign > 0.0 ? "beyond" : "between 0 and",
                        p->speed_m_s);
    return reach_speed(p, g, to_speed_m_s);
}

static enum oto_status plan_accelerate(struct planner *p, const struct script_segment *g)
{
    return plan_speed_change(p, g, "accelerate", 1.0);
}

static enum oto_status plan_brake(struct planner *p, const struct script_segment *g)
{
    return plan_speed_change(p, g, "brake", -1.0);
}

static enum oto_status plan_stop(struct planner *p, const struct script_segment *g)
{
    const struct change none = {0.0, NULL, 0.0, NULL};
    enum oto_status status = reach_speed(p, g, 0.0);
    return status == OTO_OK ? add_piece(p, ns_of(g->duration_s), &none) : status;
}

static enum oto_status plan_turn(struct planner *p, const struct script_segment *g)
{
    double angle_rad = g->angle_deg * OTO_DEG, rate_rad_s = g->turn_rate_deg_s * OTO_DEG;
    if (rate_rad_s == 0.0 && g->radius_m > 0.0)
        rate_rad_s = p->speed_m_s / g->radius_m * (angle_rad * p->speed_m_s < 0.0 ? -1.0 : 1.0);
    if (rate_rad_s == 0.0)
        return oto_fail(p->error, OTO_INVALID,
                        "segments[%u]: a turn needs radius_m and a speed that is not 0, or turn_rate_deg_s", p->segment);
    if (g->duration_s >= 2.0 * g->ramp_s && angle_rad == 0.0)
        angle_rad = rate_rad_s * (g->duration_s - g->ramp_s);
    if (angle_rad == 0.0)
        return oto_fail(p->error, OTO_INVALID,
                        "segments[%u]: a turn needs angle_deg, or a duration_s of at least %g (two ramps)", p->segment,
                        2.0 * g->ramp_s);
    return add_pulse(p, angle_rad, rate_rad_s, g->ramp_s, true);
}

/* ∫₀¹ sin(peak · bump(s)) ds, by Gauss–Legendre with three nodes in each of 64 intervals: to rounding. */
static double mean_sine(double peak_rad)
{
    static const double node[3] = {0.11270166537925831, 0.5, 0.88729833462074169};
    static const double weight[3] = {5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0};
    double total = 0.0;
    for (int i = 0; i < 64; i++) {
        for (int g = 0; g < 3; g++) {
            double s = ((double)i + node[g]) / 64.0, one = s * (1.0 - s);
            total += weight[g] * oto_sin(peak_rad * 64.0 * one * one * one);
        }
    }
    return total / 64.0;
}

static enum oto_status plan_lane_change(struct planner *p, const struct script_segment *g)
{
    double length_m = p->speed_m_s * g->duration_s, wanted, low = 0.0, high = LANE_CHANGE_MAX_RAD;
    struct change change = {0.0, NULL, 0.0, bump};
    if (!(oto_fabs(length_m) > 0.0) || g->duration_s > CURVED_LONGEST_S)
        return oto_fail(p->error, OTO_INVALID,
                        "segments[%u]: a lane change needs a speed that is not 0 and a duration_s above 0, at most %g",
                        p->segment, CURVED_LONGEST_S);
    wanted = oto_fabs(g->offset_m / length_m);
    if (wanted > mean_sine(LANE_CHANGE_MAX_RAD))
        return oto_fail(p->error, OTO_INVALID,
                        "segments[%u]: offset_m %g is too far for %g s at %g m/s; give at least %.3g s", p->segment,
                        g->offset_m, g->duration_s, p->speed_m_s,
                        oto_fabs(g->offset_m / p->speed_m_s) / mean_sine(LANE_CHANGE_MAX_RAD));
    for (int i = 0; i < 60; i++) {
        double middle = 0.5 * (low + high);
        if (mean_sine(middle) < wanted)
            low = middle;
        else
            high = middle;
    }
    change.heading_gain_rad = g->offset_m * length_m < 0.0 ? -high : high;
    return add_piece(p, ns_of(g->duration_s), &change);
}

static enum oto_status plan_segment(struct planner *p, const struct script_segment *g)
{
    static enum oto_status (*const plan[SCRIPT_KIND_COUNT])(struct planner *, const struct script_segment *) = {
        [SCRIPT_CRUISE] = plan_cruise, [SCRIPT_ACCELERATE] = plan_accelerate,
        [SCRIPT_BRAKE] = plan_brake,   [SCRIPT_STOP] = plan_stop,
        [SCRIPT_TURN] = plan_turn,     [SCRIPT_LANE_CHANGE] = plan_lane_change,
    };
    if (g->kind <= 0 || g->kind >= SCRIPT_KIND_COUNT)
        return oto_fail(p->error, OTO_INVALID, "segments[%u]: %lld is no kind of segment; 1 to %d are", p->segment,
                        (long long)g->kind, SCRIPT_KIND_COUNT - 1);
    if (!(g->accel_m_s2 > 0.0) || !(g->ramp_s > 0.0))
        return oto_fail(p->error, OTO_INVALID, "segments[%u]: accel_m_s2 %g and ramp_s %g must be above 0", p->segment,
                        g->accel_m_s2, g->ramp_s);
    return plan[g->kind](p, g);
}

/* What a next lap begins with, and whether it may. */
static enum oto_status close_script(struct planner *p)
{
    struct script *script = p->script;
    double turn_rad = oto_wrap_pi(p->heading_rad - script->start.heading_rad);
    script->period_ns = p->t_ns;
    script->end_m = p->at_m;
    script->end_heading_rad = p->heading_rad;
    script->end_speed_m_s = p->speed_m_s;
    script->lap_turn_rad = oto_fabs(turn_rad) < 1e-12 ? 0.0 : turn_rad;
    if (p->t_ns <= 0)
        return oto_fail(p->error, OTO_INVALID, "segments: they take no time; give one a duration_s");
    if (script->repeat && oto_fabs(p->speed_m_s - script->start.speed_m_s) > 1e-9)
        return oto_fail(p->error, OTO_INVALID,
                        "segments: they end at %g m/s but begin again at speed_m_s %g; add a segment that leads back, "
                        "or set repeat to false",
                        p->speed_m_s, script->start.speed_m_s);
    return OTO_OK;
}

enum oto_status script_plan(struct script *script, const struct script_start *start,
                            const struct script_segment *segments, uint32_t count, bool repeat, script_alloc *alloc,
                            void *alloc_context, struct oto_error *error)
{
    struct planner p = {script, alloc, alloc_context, error, 0, 0, start->speed_m_s, start->heading_rad,
                        {start->position_enu_m.x, start->position_enu_m.y}};
    enum oto_status status = OTO_OK;
    memset(script, 0, sizeof *script);
    script->start = *start;
    script->repeat = repeat;
    script->pieces = alloc(alloc_context, (size_t)count * SCRIPT_PIECES_PER_SEGMENT * sizeof *script->pieces);
    if (script->pieces == NULL)
        return no_memory(&p);
    for (; p.segment < count && status == OTO_OK; p.segment++) {
        status = plan_segment(&p, &segments[p.segment]);
        if (status == OTO_OK && (double)p.t_ns * 1e-9 > LONGEST_S)
            status = oto_fail(error, OTO_RANGE, "segments[%u]: the script gets longer than %g s", p.segment, LONGEST_S);
    }
    return status == OTO_OK ? close_script(&p) : status;
}

/* clang-format off */
#define STOP(stand_s)              {SCRIPT_STOP, stand_s, 0.0, 2.2, 0.0, 0.0, 0.0, 0.0, 1.0}
#define CRUISE(for_s)              {SCRIPT_CRUISE, for_s, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.8}
#define SPEED_UP(to_m_s, by_m_s2)  {SCRIPT_ACCELERATE, 0.0, to_m_s, by_m_s2, 0.0, 0.0, 0.0, 0.0, 0.9}
#define SLOW_DOWN(to_m_s, by_m_s2) {SCRIPT_BRAKE, 0.0, to_m_s, by_m_s2, 0.0, 0.0, 0.0, 0.0, 0.9}
#define TURN(by_deg, round_m)      {SCRIPT_TURN, 0.0, 0.0, 2.0, by_deg, round_m, 0.0, 0.0, 1.0}
#define LANE(by_m, in_s)           {SCRIPT_LANE_CHANGE, in_s, 0.0, 2.0, 0.0, 0.0, 0.0, by_m, 0.8}
/* Half a circuit that turns by 180 deg: two of them close exactly, whatever is in it. */
#define HALF_CIRCUIT \
    STOP(3.0), SPEED_UP(13.0, 2.0), CRUISE(5.0), LANE(3.5, 4.0), CRUISE(6.0), LANE(-3.5, 4.5), CRUISE(3.0), \
    SLOW_DOWN(5.0, 2.0), TURN(90.0, 14.0), SPEED_UP(10.0, 1.6), CRUISE(4.0), STOP(6.0), \
    SPEED_UP(9.0, 1.8), CRUISE(3.0), SLOW_DOWN(4.5, 1.7), TURN(-90.0, 10.0), SPEED_UP(11.0, 1.5), CRUISE(5.0), \
    SLOW_DOWN(5.0, 1.8), TURN(90.0, 14.0), SPEED_UP(8.0, 1.2), CRUISE(4.0), SLOW_DOWN(5.0, 1.5), TURN(90.0, 14.0), \
    SPEED_UP(12.0, 1.7), CRUISE(8.0), STOP(0.0)
/* clang-format on */

const struct script_segment script_city_drive[] = {HALF_CIRCUIT, HALF_CIRCUIT};
const uint32_t script_city_drive_count = sizeof script_city_drive / sizeof *script_city_drive;
