#include "script.h"

#include <string.h>

#define LONGEST_S 1e8            /* limit for a whole script: 3 years */
#define LANE_CHANGE_MAX_RAD 0.8  /* limit of the heading change of a lane change */
#define FIGURE_EIGHT_TURN_RAD (1.5 * OTO_PI) /* angle of each loop; the loops cross at a right angle */
#define MOST_GATES 64
#define MOST_EIGHTS 16

struct planner {
    struct script_sink *sink;
    struct script_anchor *at; /* the end of what has been planned */
    struct oto_error *error;
    uint32_t segment; /* index of the segment being planned */
};

/* The contribution of a piece to speed and heading: gain · profile. */
struct change {
    double speed_gain_m_s;
    enum num_profile speed_profile;
    double heading_gain_rad;
    enum num_profile heading_profile;
};

static const struct change no_change = {0.0, NUM_PROFILE_NONE, 0.0, NUM_PROFILE_NONE};

static double seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

/* Appends a piece of duration_ns and moves the planner to its end. Does nothing for zero time. */
static enum oto_status add_piece(struct planner *p, int64_t duration_ns, const struct change *change)
{
    struct script_anchor *at = p->at;
    struct script_piece piece = {at->t_ns, duration_ns, change->speed_profile, change->heading_profile,
                                 at->speed_m_s, change->speed_gain_m_s, at->heading_rad, change->heading_gain_rad,
                                 at->distance_m, {{at->x_m, at->y_m}}};
    double path;
    struct script_xy end;
    if (duration_ns <= 0)
        return OTO_OK;
    if (seconds(at->t_ns) + seconds(duration_ns) > LONGEST_S)
        return oto_fail(p->error, OTO_RANGE, "segments[%u]: the script gets longer than %g s", p->segment, LONGEST_S);
    if (p->sink->pieces != NULL && p->sink->count >= p->sink->capacity)
        return oto_fail(p->error, OTO_RANGE, "segments[%u]: more pieces than the %u there is room for", p->segment,
                        p->sink->capacity);
    end = script_piece_lay(&piece);
    if (p->sink->pieces != NULL)
        p->sink->pieces[p->sink->count] = piece;
    p->sink->count++;
    path = seconds(duration_ns) *
           (piece.speed_m_s + piece.speed_gain_m_s * num_profile_integral(piece.speed_profile, 1.0));
    *at = (struct script_anchor){at->t_ns + duration_ns, end.x_m, end.y_m, at->distance_m + path,
                                 at->heading_rad + change->heading_gain_rad * num_profile_end(change->heading_profile),
                                 at->speed_m_s + change->speed_gain_m_s * num_profile_end(change->speed_profile)};
    return OTO_OK;
}

static int64_t ns_of(double seconds_)
{
    return (int64_t)oto_round_half_away(seconds_ * 1e9);
}

/*
 * Adds the pieces of a quantity that changes by `total`. Its rate rises to `peak` and falls again within ramp_s each. If
 * the total is too small for this peak, the steady part is omitted and the peak is lower.
 */
static enum oto_status add_pulse(struct planner *p, double total, double peak, double ramp_s, bool of_heading)
{
    static const enum num_profile profiles[3] = {NUM_PROFILE_UP, NUM_PROFILE_STEADY, NUM_PROFILE_DOWN};
    double steady_s = oto_fabs(total / peak) - ramp_s, rate;
    int64_t ramp_ns = ns_of(ramp_s), steady_ns;
    enum oto_status status = OTO_OK;
    if (!(steady_s < LONGEST_S))
        return oto_fail(p->error, OTO_RANGE, "segments[%u]: it takes longer than %g s", p->segment, LONGEST_S);
    steady_ns = steady_s > 0.0 ? ns_of(steady_s) : 0;
    rate = total / seconds(ramp_ns + steady_ns);
    for (int i = 0; i < 3 && status == OTO_OK; i++) {
        int64_t duration_ns = i == 1 ? steady_ns : ramp_ns;
        double gain = rate * seconds(duration_ns);
        struct change change = no_change;
        if (of_heading) {
            change.heading_gain_rad = gain;
            change.heading_profile = profiles[i];
        } else {
            change.speed_gain_m_s = gain;
            change.speed_profile = profiles[i];
        }
        status = add_piece(p, duration_ns, &change);
    }
    return status;
}

static enum oto_status reach_speed(struct planner *p, const struct script_segment *g, double to_speed_m_s)
{
    enum oto_status status = OTO_OK;
    if (to_speed_m_s != p->at->speed_m_s)
        status = add_pulse(p, to_speed_m_s - p->at->speed_m_s, g->accel_m_s2, g->ramp_s, false);
    p->at->speed_m_s = to_speed_m_s; /* assigned exactly, so that a standstill is exactly zero */
    return status;
}

static enum oto_status plan_cruise(struct planner *p, const struct script_segment *g)
{
    double duration_s = g->duration_s;
    if (g->distance_m > 0.0 && p->at->speed_m_s != 0.0)
        duration_s = g->distance_m / oto_fabs(p->at->speed_m_s);
    if (!(duration_s > 0.0) || !(duration_s < LONGEST_S))
        return oto_fail(p->error, OTO_INVALID,
                        "segments[%u]: a cruise needs a duration_s above 0, or a distance_m and a speed that is not 0",
                        p->segment);
    return add_piece(p, ns_of(duration_s), &no_change);
}

/* Plans a change of |speed|; `sign`: 1 to accelerate, -1 to brake. */
static enum oto_status plan_speed_change(struct planner *p, const struct script_segment *g, const char *kind, double sign)
{
    double to_speed_m_s = g->to_speed_m_s;
    bool reverse = p->at->speed_m_s < 0.0 || (p->at->speed_m_s == 0.0 && g->to_speed_m_s < 0.0);
    if (g->duration_s > 0.0) {
        double gain_m_s = sign * g->accel_m_s2 * (g->duration_s - g->ramp_s);
        if (g->duration_s < 2.0 * g->ramp_s)
            return oto_fail(p->error, OTO_INVALID,
                            "segments[%u]: duration_s %g is too short for two ramps of ramp_s %g; give at least %g",
                            p->segment, g->duration_s, g->ramp_s, 2.0 * g->ramp_s);
        to_speed_m_s = p->at->speed_m_s + (reverse ? -gain_m_s : gain_m_s);
    }
    if (sign * (oto_fabs(to_speed_m_s) - oto_fabs(p->at->speed_m_s)) <= 0.0 || to_speed_m_s * p->at->speed_m_s < 0.0)
        return oto_fail(p->error, OTO_INVALID,
                        "segments[%u]: %s leads from %g m/s to %g m/s; it takes a to_speed_m_s %s %g in the same "
                        "direction, or a duration_s",
                        p->segment, kind, p->at->speed_m_s, to_speed_m_s, sign > 0.0 ? "beyond" : "between 0 and",
                        p->at->speed_m_s);
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
    enum oto_status status = reach_speed(p, g, 0.0);
    return status == OTO_OK ? add_piece(p, ns_of(g->duration_s), &no_change) : status;
}

/*
 * The turn rate of a segment, positive to the left: as specified, or from the radius at the current speed. 0: an error was
 * reported.
 */
static double turn_rate_of(struct planner *p, const struct script_segment *g, const char *kind)
{
    if (g->turn_rate_deg_s != 0.0)
        return g->turn_rate_deg_s * OTO_DEG;
    if (g->radius_m > 0.0 && p->at->speed_m_s != 0.0)
        return oto_fabs(p->at->speed_m_s) / g->radius_m;
    (void)oto_fail(p->error, OTO_INVALID,
                   "segments[%u]: a %s needs radius_m and a speed that is not 0, or turn_rate_deg_s", p->segment, kind);
    return 0.0;
}

static enum oto_status plan_turn(struct planner *p, const struct script_segment *g)
{
    double angle_rad = g->angle_deg * OTO_DEG, rate_rad_s = turn_rate_of(p, g, "turn");
    if (rate_rad_s == 0.0)
        return OTO_INVALID;
    if (g->duration_s >= 2.0 * g->ramp_s && angle_rad == 0.0)
        angle_rad = rate_rad_s * (g->duration_s - g->ramp_s);
    if (angle_rad == 0.0)
        return oto_fail(p->error, OTO_INVALID,
                        "segments[%u]: a turn needs angle_deg, or a duration_s of at least %g (two ramps)", p->segment,
                        2.0 * g->ramp_s);
    return add_pulse(p, angle_rad, rate_rad_s, g->ramp_s, true);
}

/*
 * ∫₀¹ sin(peak · bump(s)) ds and its derivative by the peak: Σ ± peak^m/m! ∫ bump^m over odd m. The bump is
 * (4s(1 - s))⁴, and ∫ (4s(1 - s))^k ds is that for k - 1 times 2k/(2k + 1). Exact to rounding for a peak up to 1.
 */
static double mean_sine(double peak_rad, double *slope)
{
    double moment = 1.0, power = 1.0, total = 0.0, k = 0.0;
    *slope = 0.0;
    for (int m = 1; m <= 17; m++) {
        for (int i = 0; i < 4; i++) {
            k += 1.0;
            moment *= 2.0 * k / (2.0 * k + 1.0);
        }
        if (m % 2 == 1) {
            double sign = m % 4 == 1 ? 1.0 : -1.0;
            *slope += sign * power * moment;
            total += sign * power * peak_rad / (double)m * moment;
        }
        power *= peak_rad / (double)m;
    }
    return total;
}

/* The peak whose mean sine is `wanted`. The mean is concave, so Newton's iteration converges from below. */
static double peak_of_mean_sine(double wanted)
{
    double peak_rad = wanted, slope;
    for (int i = 0; i < 12; i++)
        peak_rad += (wanted - mean_sine(peak_rad, &slope)) / slope;
    return peak_rad;
}

/* Moves sideways by offset_m within duration_s, at constant speed. */
static enum oto_status add_aside(struct planner *p, double offset_m, double duration_s, const char *what)
{
    double length_m = p->at->speed_m_s * duration_s, wanted = oto_fabs(offset_m / length_m), unused;
    double most = mean_sine(LANE_CHANGE_MAX_RAD, &unused);
    struct change change = no_change;
    if (!(oto_fabs(length_m) > 0.0))
        return oto_fail(p->error, OTO_INVALID, "segments[%u]: a %s needs a speed that is not 0 and a duration_s above 0",
                        p->segment, what);
    if (wanted > most)
        return oto_fail(p->error, OTO_INVALID,
                        "segments[%u]: offset_m %g is too far for %g s at %g m/s; give at least %.3g s", p->segment,
                        offset_m, duration_s, p->at->speed_m_s, oto_fabs(offset_m / p->at->speed_m_s) / most);
    if (offset_m == 0.0)
        return add_piece(p, ns_of(duration_s), &no_change);
    change.heading_profile = NUM_PROFILE_BUMP;
    change.heading_gain_rad = peak_of_mean_sine(wanted) * (offset_m * length_m < 0.0 ? -1.0 : 1.0);
    return add_piece(p, ns_of(duration_s), &change);
}

static enum oto_status plan_lane_change(struct planner *p, const struct script_segment *g)
{
    return add_aside(p, g->offset_m, g->duration_s, "lane change");
}

/*
 * To the left of the first gate, to the right of the second, …, back to the line. The first and the last sideways move
 * have half the offset.
 */
static enum oto_status plan_slalom(struct planner *p, const struct script_segment *g)
{
    double speed_m_s = oto_fabs(p->at->speed_m_s), gate_s = g->distance_m / speed_m_s, side = 1.0;
    enum oto_status status;
    if (!(speed_m_s > 0.0) || !(g->distance_m > 0.0))
        return oto_fail(p->error, OTO_INVALID,
                        "segments[%u]: a slalom needs a speed that is not 0 and a distance_m above 0 between its gates",
                        p->segment);
    if (g->count < 1 || g->count > MOST_GATES)
        return oto_fail(p->error, OTO_INVALID, "segments[%u]: a slalom of count %lld gates; give 1 to %d", p->segment,
                        (long long)g->count, MOST_GATES);
    status = add_aside(p, 0.5 * g->offset_m, gate_s, "slalom");
    for (int64_t gate = 1; gate < g->count && status == OTO_OK; gate++) {
        side = -side;
        status = add_aside(p, side * g->offset_m, gate_s, "slalom");
    }
    return status == OTO_OK ? add_aside(p, -0.5 * side * g->offset_m, gate_s, "slalom") : status;
}

/*
 * Straight from the crossing, a loop to the left, straight over the crossing, a loop to the right, straight to the
 * crossing. The chord of a loop is at half its angle to its entry, so straights of chord/(2 sin(angle/2 - 90 deg))
 * close the figure.
 */
static enum oto_status plan_figure_eight(struct planner *p, const struct script_segment *g)
{
    double rate_rad_s = turn_rate_of(p, g, "figure eight"), turn_rad = FIGURE_EIGHT_TURN_RAD, straight_s;
    struct script_sink nowhere = {NULL, 0, 0};
    struct script_anchor end = *p->at;
    struct planner probe = {&nowhere, &end, p->error, p->segment};
    enum oto_status status = rate_rad_s == 0.0 ? OTO_INVALID : OTO_OK;
    if (status == OTO_OK && p->at->speed_m_s == 0.0)
        status = oto_fail(p->error, OTO_INVALID, "segments[%u]: a figure eight needs a speed that is not 0", p->segment);
    if (status == OTO_OK && (g->count < 1 || g->count > MOST_EIGHTS))
        status = oto_fail(p->error, OTO_INVALID, "segments[%u]: a figure eight driven count %lld times; give 1 to %d",
                          p->segment, (long long)g->count, MOST_EIGHTS);
    if (status == OTO_OK)
        status = add_pulse(&probe, turn_rad, rate_rad_s, g->ramp_s, true);
    if (status != OTO_OK)
        return status;
    straight_s = oto_hypot(end.x_m - p->at->x_m, end.y_m - p->at->y_m) /
                 (2.0 * oto_sin(0.5 * turn_rad - OTO_HALF_PI) * oto_fabs(p->at->speed_m_s));
    if (rate_rad_s < 0.0)
        turn_rad = -turn_rad;
    for (int64_t i = 0; i < 2 * g->count && status == OTO_OK; i++) {
        status = add_piece(p, ns_of(straight_s), &no_change);
        if (status == OTO_OK)
            status = add_pulse(p, turn_rad, rate_rad_s, g->ramp_s, true);
        if (status == OTO_OK)
            status = add_piece(p, ns_of(straight_s), &no_change);
        turn_rad = -turn_rad;
    }
    return status;
}

/* Stops, drives backwards over distance_m at up to to_speed_m_s, stops, and stays at rest. */
static enum oto_status plan_reverse(struct planner *p, const struct script_segment *g)
{
    double speed_m_s = g->to_speed_m_s != 0.0 ? oto_fabs(g->to_speed_m_s) : 2.0, change_m;
    enum oto_status status = OTO_OK;
    if (!(g->distance_m > 0.0))
        return oto_fail(p->error, OTO_INVALID, "segments[%u]: a reverse needs a distance_m above 0", p->segment);
    /* A change of speed is symmetric, so its distance is v/2 · time. If both changes do not fit, the speed is lower. */
    change_m = speed_m_s * (oto_fabs(speed_m_s / g->accel_m_s2) + g->ramp_s);
    if (speed_m_s < g->accel_m_s2 * g->ramp_s)
        change_m = speed_m_s * 2.0 * g->ramp_s;
    if (change_m > g->distance_m) {
        double ramp_m_s = g->accel_m_s2 * g->ramp_s;
        speed_m_s = 0.5 * (oto_sqrt(ramp_m_s * ramp_m_s + 4.0 * g->accel_m_s2 * g->distance_m) - ramp_m_s);
        if (speed_m_s < ramp_m_s)
            speed_m_s = g->distance_m / (2.0 * g->ramp_s);
        change_m = g->distance_m;
    }
    if (p->at->speed_m_s != 0.0)
        status = reach_speed(p, g, 0.0);
    if (status == OTO_OK)
        status = reach_speed(p, g, -speed_m_s);
    if (status == OTO_OK)
        status = add_piece(p, ns_of((g->distance_m - change_m) / speed_m_s), &no_change);
    if (status == OTO_OK)
        status = reach_speed(p, g, 0.0);
    return status == OTO_OK ? add_piece(p, ns_of(g->duration_s), &no_change) : status;
}

static enum oto_status plan_segment(struct planner *p, const struct script_segment *g)
{
    static enum oto_status (*const plan[SCRIPT_KIND_COUNT])(struct planner *, const struct script_segment *) = {
        [SCRIPT_CRUISE] = plan_cruise, [SCRIPT_ACCELERATE] = plan_accelerate,
        [SCRIPT_BRAKE] = plan_brake,   [SCRIPT_STOP] = plan_stop,
        [SCRIPT_TURN] = plan_turn,     [SCRIPT_LANE_CHANGE] = plan_lane_change,
        [SCRIPT_SLALOM] = plan_slalom, [SCRIPT_FIGURE_EIGHT] = plan_figure_eight,
        [SCRIPT_REVERSE] = plan_reverse,
    };
    if (g->kind <= 0 || g->kind >= SCRIPT_KIND_COUNT)
        return oto_fail(p->error, OTO_INVALID, "segments[%u]: %lld is no kind of segment; 1 to %d are", p->segment,
                        (long long)g->kind, SCRIPT_KIND_COUNT - 1);
    if (!(g->accel_m_s2 > 0.0) || !(g->ramp_s > 0.0))
        return oto_fail(p->error, OTO_INVALID, "segments[%u]: accel_m_s2 %g and ramp_s %g must be above 0", p->segment,
                        g->accel_m_s2, g->ramp_s);
    return plan[g->kind](p, g);
}

enum oto_status script_plan_segments(struct script_sink *sink, struct script_anchor *at,
                                     const struct script_segment *segments, uint32_t count, struct oto_error *error)
{
    struct planner p = {sink, at, error, 0};
    enum oto_status status = OTO_OK;
    for (; p.segment < count && status == OTO_OK; p.segment++)
        status = plan_segment(&p, &segments[p.segment]);
    return status;
}

/* Computes the start of the next lap, and checks that laps can be joined. */
static void index_parts(struct script *script)
{
    script->parts_per_ns = SCRIPT_PARTS / (double)script->period_ns;
    for (int64_t i = 0; i < SCRIPT_PARTS; i++) {
        const int64_t begin_ns = (int64_t)((double)i / script->parts_per_ns);
        script->first_piece[i] =
            (uint32_t)(script_piece_at(script->pieces, script->piece_count, begin_ns) - script->pieces);
    }
}

static enum oto_status close_script(struct script *script, struct oto_error *error)
{
    double turn_rad = oto_wrap_pi(script->end.heading_rad - script->start.heading_rad);
    script->period_ns = script->end.t_ns;
    script->lap_turn_rad = oto_fabs(turn_rad) < 1e-12 ? 0.0 : turn_rad;
    if (script->period_ns <= 0)
        return oto_fail(error, OTO_INVALID, "segments: they take no time; give one a duration_s");
    if (script->repeat && oto_fabs(script->end.speed_m_s - script->start.speed_m_s) > 1e-9)
        return oto_fail(error, OTO_INVALID,
                        "segments: they end at %g m/s but begin again at speed_m_s %g; add a segment that leads back, "
                        "or set repeat to false",
                        script->end.speed_m_s, script->start.speed_m_s);
    index_parts(script);
    oto_sincos(0.5 * script->lap_turn_rad, &script->half_turn_sine, &script->half_turn_cosine);
    for (uint32_t i = 0; i < script->piece_count; i++)
        script_piece_direct(&script->pieces[i]);
    return OTO_OK;
}

enum oto_status script_plan(struct script *script, const struct script_anchor *start,
                            const struct script_segment *segments, uint32_t count, bool repeat, script_alloc *alloc,
                            void *alloc_context, struct oto_error *error)
{
    struct script_sink sink = {NULL, 0, 0};
    enum oto_status status;
    memset(script, 0, sizeof *script);
    script->start = script->end = *start;
    script->repeat = repeat;
    status = script_plan_segments(&sink, &script->end, segments, count, error);
    if (status != OTO_OK)
        return status;
    sink = (struct script_sink){alloc(alloc_context, (size_t)(sink.count + 1) * sizeof *sink.pieces), sink.count, 0};
    script->first_piece = alloc(alloc_context, SCRIPT_PARTS * sizeof *script->first_piece);
    if (sink.pieces == NULL || script->first_piece == NULL)
        return oto_fail(error, OTO_NO_MEMORY, "segments: out of memory for %u pieces", sink.capacity);
    script->end = *start;
    status = script_plan_segments(&sink, &script->end, segments, count, error);
    script->pieces = sink.pieces;
    script->piece_count = sink.count;
    return status == OTO_OK ? close_script(script, error) : status;
}
