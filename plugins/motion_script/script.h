/*
 * A drive described by manoeuvres, in closed form. Speed and heading are polynomials of time in every piece, joined so
 * that acceleration and turn rate have continuous first and second derivatives. Position is their integral: by the CATR
 * formula, in closed form, or by Gauss–Legendre quadrature from knots that planning has computed. `script_plan` may
 * allocate and fail; `script_instant_at` is pure, from any thread.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "num_profile.h"
#include "otolith/instant.h"
#include "otolith/records.h"
#include "otolith/status.h"

enum script_kind {
    SCRIPT_CRUISE = 1,
    SCRIPT_ACCELERATE = 2,
    SCRIPT_BRAKE = 3,
    SCRIPT_STOP = 4,
    SCRIPT_TURN = 5,
    SCRIPT_LANE_CHANGE = 6,
    SCRIPT_SLALOM = 7,
    SCRIPT_FIGURE_EIGHT = 8,
    SCRIPT_REVERSE = 9,
    SCRIPT_KIND_COUNT = 10
};

/* Zero means "not given" for to_speed, angle, radius, turn rate and distance. Angles to the left are positive. */
struct script_segment {
    int64_t kind; /* enum script_kind */
    double duration_s;
    double to_speed_m_s;
    double accel_m_s2;
    double angle_deg;
    double radius_m;
    double turn_rate_deg_s;
    double offset_m;
    double ramp_s;
    double distance_m;
    int64_t count;
};

/* The vehicle's state between two manoeuvres, where it neither accelerates nor turns. */
struct script_anchor {
    int64_t t_ns;
    double x_m, y_m;
    double distance_m; /* along the path; reverse driving counts negative */
    double heading_rad; /* not wrapped */
    double speed_m_s;
};

struct script_xy {
    double x_m, y_m;
};

#define SCRIPT_KNOTS 4

/* An interval in which speed and heading are start + gain · profile(s), s = (t - start)/duration in [0, 1]. */
struct script_piece {
    int64_t start_ns, duration_ns;
    uint32_t speed_profile, heading_profile; /* enum num_profile */
    double speed_m_s, speed_gain_m_s;
    double heading_rad, heading_gain_rad;
    double distance_m;
    /*
     * Position at s = i/SCRIPT_KNOTS; all but the first are used only in curves. A straight piece has the cosine and sine of its
     * heading in knots[1], or zeros before script_piece_direct.
     */
    struct script_xy knots[SCRIPT_KNOTS];
};

/* The path at one instant. */
struct script_instant {
    struct script_xy at_m;
    double distance_m;
    double speed_m_s, accel_m_s2, jerk_m_s3, snap_m_s4;
    double heading_rad, turn_rate_rad_s, turn_accel_rad_s2, turn_jerk_rad_s3;
};

#define SCRIPT_PARTS 64 /* parts of a lap, an index for finding the piece of an instant */

struct script {
    bool repeat;
    uint32_t piece_count;
    struct script_piece *pieces;
    uint32_t *first_piece; /* of SCRIPT_PARTS: the last piece that begins at or before each part of the lap */
    int64_t period_ns;
    double parts_per_ns;
    double lap_turn_rad; /* rotation from one lap to the next, in [-pi, pi] */
    double half_turn_sine, half_turn_cosine; /* of half of it */
    struct script_anchor start, end; /* end: state after one lap */
};

/* Zeroed memory that lives as long as the script; NULL when there is none. */
typedef void *script_alloc(void *context, size_t bytes);

/* The default drive: a closed city circuit. */
extern const struct script_segment script_city_drive[];
extern const uint32_t script_city_drive_count;

/* Receives planned pieces; with `pieces` NULL they are only counted. */
struct script_sink {
    struct script_piece *pieces;
    uint32_t capacity, count;
};

/*
 * Appends the pieces of `count` manoeuvres to the sink and moves `at` to their end. Allocates nothing. Errors name the
 * segment by its index in the list, from 0; OTO_RANGE if the sink is full.
 */
enum oto_status script_plan_segments(struct script_sink *sink, struct script_anchor *at,
                                     const struct script_segment *segments, uint32_t count, struct oto_error *error);

/* Plans the whole script. `count` >= 1; `start->t_ns` is 0. */
enum oto_status script_plan(struct script *script, const struct script_anchor *start,
                            const struct script_segment *segments, uint32_t count, bool repeat, script_alloc *alloc,
                            void *alloc_context, struct oto_error *error);

/* The path at an instant, t_ns >= 0. O(log pieces). */
void script_instant_at(const struct script *script, struct oto_instant at, struct script_instant *now);

/* The path at tau_s after the start of a piece. */
void script_instant_in(const struct script_piece *piece, double tau_s, struct script_instant *now);

/* The last of `count` pieces, ordered by time, that begins at or before t_ns; the first piece if there is none. */
const struct script_piece *script_piece_at(const struct script_piece *pieces, uint32_t count, int64_t t_ns);

/* Computes the knots of a piece from knots[0] and returns its end. */
struct script_xy script_piece_lay(struct script_piece *piece);
/* Computes the direction of a straight piece, so that its instants need not; their bits stay the same. */
void script_piece_direct(struct script_piece *piece);

#endif
