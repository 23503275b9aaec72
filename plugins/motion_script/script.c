#include "script.h"

#include <string.h>

#include "num_catr.h"

#define NODES 8

static double seconds(int64_t ns)
{
    return (double)ns * 1e-9;
}

/* Distance from the start of the piece to s: ∫ speed dt. */
static double path_m(const struct script_piece *piece, double s)
{
    return seconds(piece->duration_ns) *
           (piece->speed_m_s * s + piece->speed_gain_m_s * num_profile_integral(piece->speed_profile, s));
}

static struct script_xy straight_position(const struct script_piece *piece, double s)
{
    double sine = piece->knots[1].y_m, cosine = piece->knots[1].x_m, way_m = path_m(piece, s);
    if (sine == 0.0 && cosine == 0.0)
        oto_sincos(piece->heading_rad, &sine, &cosine);
    return (struct script_xy){piece->knots[0].x_m + way_m * cosine, piece->knots[0].y_m + way_m * sine};
}

static struct script_xy catr_position(const struct script_piece *piece, double s)
{
    double duration_s = seconds(piece->duration_ns);
    struct num_catr state = {piece->knots[0].x_m,
                             piece->knots[0].y_m,
                             piece->speed_m_s,
                             piece->speed_gain_m_s / duration_s,
                             piece->heading_rad,
                             piece->heading_gain_rad / duration_s};
    num_catr_predict(&state, s * duration_s, &state);
    return (struct script_xy){state.x_m, state.y_m};
}

/*
 * Adds the movement of the piece from s0 over `width`, by Gauss–Legendre with eight nodes: exact to rounding over a
 * quarter of a profile while the heading changes by at most about a radian. Profiles that turn more are divided.
 */
static void add_quadrature(const struct script_piece *piece, double s0, double width, struct script_xy *at)
{
    static const double node[NODES] = {0.01985507175123188, 0.10166676129318664, 0.2372337950418355,
                                       0.40828267875217511, 0.59171732124782489, 0.7627662049581645,
                                       0.89833323870681336, 0.98014492824876812};
    static const double weight[NODES] = {0.05061426814518813, 0.11119051722668724, 0.15685332293894365,
                                         0.18134189168918100, 0.18134189168918100, 0.15685332293894365,
                                         0.11119051722668724, 0.05061426814518813};
    double duration_s = seconds(piece->duration_ns);
    int parts = 1 + (int)oto_fabs(piece->heading_gain_rad);
    double part = width / (double)parts;
    for (int k = 0; k < parts; k++) {
        for (int i = 0; i < NODES; i++) {
            double sine, cosine, u = s0 + part * ((double)k + node[i]);
            double speed = piece->speed_m_s + piece->speed_gain_m_s * num_profile_value(piece->speed_profile, u);
            double step_m = weight[i] * part * duration_s * speed;
            oto_sincos(piece->heading_rad + piece->heading_gain_rad * num_profile_value(piece->heading_profile, u),
                       &sine, &cosine);
            at->x_m += step_m * cosine;
            at->y_m += step_m * sine;
        }
    }
}

static struct script_xy curved_position(const struct script_piece *piece, double s)
{
    uint32_t knot = s > 0.0 ? (uint32_t)(s * SCRIPT_KNOTS) : 0;
    struct script_xy at;
    double s0;
    if (knot >= SCRIPT_KNOTS)
        knot = SCRIPT_KNOTS - 1;
    at = piece->knots[knot];
    s0 = (double)knot / SCRIPT_KNOTS;
    add_quadrature(piece, s0, s - s0, &at);
    return at;
}

enum shape { STRAIGHT, CATR, CURVED };

static enum shape shape_of(const struct script_piece *piece)
{
    if (piece->heading_profile == NUM_PROFILE_NONE)
        return STRAIGHT;
    return piece->heading_profile == NUM_PROFILE_STEADY && piece->speed_profile <= NUM_PROFILE_STEADY ? CATR : CURVED;
}

static struct script_xy position_in(const struct script_piece *piece, double s)
{
    static struct script_xy (*const position[])(const struct script_piece *, double) = {
        [STRAIGHT] = straight_position, [CATR] = catr_position, [CURVED] = curved_position};
    return position[shape_of(piece)](piece, s);
}

struct script_xy script_piece_lay(struct script_piece *piece)
{
    struct script_xy at = piece->knots[0];
    if (shape_of(piece) != CURVED)
        return position_in(piece, 1.0);
    for (int i = 0; i < SCRIPT_KNOTS; i++) {
        piece->knots[i] = at;
        add_quadrature(piece, (double)i / SCRIPT_KNOTS, 1.0 / SCRIPT_KNOTS, &at);
    }
    return at;
}

void script_piece_direct(struct script_piece *piece)
{
    if (shape_of(piece) == STRAIGHT)
        oto_sincos(piece->heading_rad, &piece->knots[1].y_m, &piece->knots[1].x_m);
}

void script_instant_in(const struct script_piece *piece, double tau_s, struct script_instant *now)
{
    double rate = 1.0 / seconds(piece->duration_ns), s = tau_s * rate, rate2 = rate * rate;
    struct num_jet speed = num_profile_jet(piece->speed_profile, s);
    struct num_jet heading = num_profile_jet(piece->heading_profile, s);
    double gain = piece->speed_gain_m_s, turn = piece->heading_gain_rad;
    now->at_m = position_in(piece, s);
    now->distance_m = piece->distance_m + path_m(piece, s);
    now->speed_m_s = piece->speed_m_s + gain * speed.value;
    now->accel_m_s2 = gain * speed.first * rate;
    now->jerk_m_s3 = gain * speed.second * rate2;
    now->snap_m_s4 = gain * speed.third * rate2 * rate;
    now->heading_rad = piece->heading_rad + turn * heading.value;
    now->turn_rate_rad_s = turn * heading.first * rate;
    now->turn_accel_rad_s2 = turn * heading.second * rate2;
    now->turn_jerk_rad_s3 = turn * heading.third * rate2 * rate;
}

/* The instant after the end of the script: the vehicle continues straight at its last speed. */
static void instant_after_end(const struct script_anchor *end, double tau_s, struct script_instant *now)
{
    double sine, cosine, way_m = end->speed_m_s * tau_s;
    oto_sincos(end->heading_rad, &sine, &cosine);
    memset(now, 0, sizeof *now);
    now->at_m = (struct script_xy){end->x_m + way_m * cosine, end->y_m + way_m * sine};
    now->distance_m = end->distance_m + way_m;
    now->speed_m_s = end->speed_m_s;
    now->heading_rad = end->heading_rad;
}

const struct script_piece *script_piece_at(const struct script_piece *pieces, uint32_t count, int64_t t_ns)
{
    uint32_t low = 0, high = count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (pieces[middle].start_ns <= t_ns)
            low = middle;
        else
            high = middle;
    }
    return &pieces[low];
}

/*
 * Same result as script_piece_at, but the search starts at the piece that is stored for the part of the lap. If many
 * vehicles have scripts, a search of all pieces would wait for memory at each step.
 */
static const struct script_piece *piece_in_lap(const struct script *script, int64_t in_lap_ns)
{
    const double part = (double)in_lap_ns * script->parts_per_ns;
    uint32_t i = script->first_piece[part < SCRIPT_PARTS - 1 ? (uint32_t)part : SCRIPT_PARTS - 1];
    while (i > 0 && script->pieces[i].start_ns > in_lap_ns)
        i--;
    while (i + 1 < script->piece_count && script->pieces[i + 1].start_ns <= in_lap_ns)
        i++;
    return &script->pieces[i];
}

/*
 * Lap n is lap 0 rotated by n·turn about the start and moved by Σ_{k<n} R(k·turn) d, where d leads from start to end.
 * The sum is sin(n·turn/2)/sin(turn/2) R((n-1)·turn/2) d.
 */
static void move_to_lap(const struct script *script, double n, struct script_instant *now)
{
    double x0 = script->start.x_m, y0 = script->start.y_m;
    double dx = script->end.x_m - x0, dy = script->end.y_m - y0;
    double rx = now->at_m.x_m - x0, ry = now->at_m.y_m - y0;
    double turn_rad, sine, cosine, sn, cn, gain;
    const double s1 = script->half_turn_sine, c1 = script->half_turn_cosine;
    now->distance_m += n * (script->end.distance_m - script->start.distance_m);
    if (script->lap_turn_rad == 0.0) {
        now->at_m.x_m += n * dx;
        now->at_m.y_m += n * dy;
        return;
    }
    turn_rad = oto_wrap_pi(n * script->lap_turn_rad);
    oto_sincos(turn_rad, &sine, &cosine);
    oto_sincos(0.5 * n * script->lap_turn_rad, &sn, &cn);
    gain = sn / s1;
    now->at_m.x_m = x0 + rx * cosine - ry * sine;
    now->at_m.y_m = y0 + rx * sine + ry * cosine;
    /* R((n-1)·turn/2): half the turn of n laps minus half that of one lap. */
    cosine = cn * c1 + sn * s1;
    sine = sn * c1 - cn * s1;
    now->at_m.x_m += gain * (dx * cosine - dy * sine);
    now->at_m.y_m += gain * (dx * sine + dy * cosine);
    now->heading_rad += turn_rad;
}

void script_instant_at(const struct script *script, struct oto_instant at, struct script_instant *now)
{
    int64_t lap = script->repeat && at.t_ns >= script->period_ns ? at.t_ns / script->period_ns : 0;
    int64_t in_lap_ns = at.t_ns - lap * script->period_ns;
    if (in_lap_ns >= script->period_ns) {
        instant_after_end(&script->end, ((double)(in_lap_ns - script->period_ns) + at.sub_ns) * 1e-9, now);
    } else {
        const struct script_piece *piece = piece_in_lap(script, in_lap_ns);
        script_instant_in(piece, ((double)(in_lap_ns - piece->start_ns) + at.sub_ns) * 1e-9, now);
    }
    if (lap > 0)
        move_to_lap(script, (double)lap, now);
}
