/*
 * A drive written as manoeuvres, in closed form. Speed and heading are polynomials of time in every piece, joined so
 * that acceleration and turn rate have continuous first and second derivatives; position is their integral, by the CATR formula, in closed form
 * or by Gauss–Legendre quadrature from knots laid out beforehand. `script_plan` may allocate and fail; `script_evaluate`
 * is pure, from any thread.
 */
#ifndef SCRIPT_H
#define SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/records.h"
#include "otolith/status.h"

enum script_kind {
    SCRIPT_CRUISE = 1,
    SCRIPT_ACCELERATE = 2,
    SCRIPT_BRAKE = 3,
    SCRIPT_STOP = 4,
    SCRIPT_TURN = 5,
    SCRIPT_LANE_CHANGE = 6,
    SCRIPT_KIND_COUNT = 7
};

/* Zero is "not given" for to_speed, angle, radius and turn rate. Angles to the left are positive. */
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
};

struct script_start {
    oto_vec3 position_enu_m;
    double heading_rad;
    double speed_m_s;
};

#define SCRIPT_DEGREE 6
#define SCRIPT_PIECES_PER_SEGMENT 4

enum script_shape { SCRIPT_STRAIGHT, SCRIPT_CATR, SCRIPT_CURVED };

struct script_xy {
    double x_m, y_m;
};

/* A stretch of time in which speed and heading are one polynomial each of s = (t - start)/duration in [0, 1]. */
struct script_piece {
    int64_t start_ns;
    double duration_s;
    enum script_shape shape;
    uint32_t knot_count;         /* curved: knots at s = 0, 1/knot_count, … */
    double speed_m_s[SCRIPT_DEGREE + 1];
    double heading_rad[SCRIPT_DEGREE + 1];
    struct script_xy start_m;
    const struct script_xy *knots;
};

struct script {
    struct script_start start;
    bool repeat;
    uint32_t piece_count;
    struct script_piece *pieces;
    int64_t period_ns;
    double end_heading_rad, end_speed_m_s;
    struct script_xy end_m;
    double lap_turn_rad; /* how far a lap turns the next, in [-pi, pi] */
};

/* Zeroed memory that lives as long as the script; NULL when there is none. */
typedef void *script_alloc(void *context, size_t bytes);

/* The drive that stands where none is written: a closed city circuit. */
extern const struct script_segment script_city_drive[];
extern const uint32_t script_city_drive_count;

/* Errors name the segment by its place in the list, from 0. `count` >= 1. */
enum oto_status script_plan(struct script *script, const struct script_start *start,
                            const struct script_segment *segments, uint32_t count, bool repeat, script_alloc *alloc,
                            void *alloc_context, struct oto_error *error);

/* The truth at t_ns + sub_ns, t_ns >= 0. O(log pieces). */
void script_evaluate(const struct script *script, int64_t t_ns, double sub_ns, struct oto_truth_record *truth);

/* Where the piece's speed and heading lead from its start, at s in [0, 1]; uses its knots up to s only. */
struct script_xy script_piece_position(const struct script_piece *piece, double s);

#endif
