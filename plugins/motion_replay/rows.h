/*
 * The rows of a trajectory file, checked and converted: time from the first row, ENU about the world's origin, body
 * axes FLU. Pure functions on the caller's memory.
 */
#ifndef REPLAY_ROWS_H
#define REPLAY_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/geodesy.h"
#include "otolith/status.h"
#include "otolith/vecmath.h"

enum rows_position_frame { ROWS_POSITION_ENU = 1, ROWS_POSITION_ECEF = 2, ROWS_POSITION_GEODETIC = 3 };
enum rows_velocity_frame { ROWS_VELOCITY_AS_POSITION = 1, ROWS_VELOCITY_ENU = 2, ROWS_VELOCITY_ECEF = 3 };
enum rows_attitude_frame { ROWS_ATTITUDE_ENU = 1, ROWS_ATTITUDE_NED = 2, ROWS_ATTITUDE_ECEF = 3 };
enum rows_direction { ROWS_FRAME_FROM_BODY = 1, ROWS_BODY_FROM_FRAME = 2 };
enum rows_body { ROWS_FLU = 1, ROWS_FRD = 2 };

struct rows_convention {
    int64_t position_frame, velocity_frame, attitude_frame, attitude_direction, body;
    oto_geodetic origin;
};

/* Indices of the columns in a row. Velocity and attitude may be absent; their members are then unused. */
struct rows_layout {
    uint32_t columns;
    bool has_velocity, has_attitude;
    uint32_t time, position, velocity, attitude; /* index of the first of 1, 3, 3, 4 adjacent columns */
    const char *const *names;                    /* names of the columns, for error messages */
    const char *path;                            /* path of the file, for error messages */
};

struct rows {
    uint64_t count;
    double *t_s;               /* time since the first row */
    oto_vec3 *position_enu_m;
    oto_vec3 *velocity_enu_m_s; /* or NULL */
    oto_quat *q_enu_from_body;  /* or NULL; normalised; the signs are chosen so that neighbours are close to each other */
};

#define ROWS_FEWEST 4

/* Fills `rows`, whose arrays the caller provides, from `values` (count × layout->columns). */
enum oto_status rows_read(struct rows *rows, const double *values, const struct rows_layout *layout,
                          const struct rows_convention *convention, struct oto_error *error);

#endif
