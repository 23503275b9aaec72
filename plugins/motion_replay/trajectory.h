/*
 * A trajectory as splines: fitted once from rows, then the truth at any instant. `trajectory_fit` may allocate and fail;
 * `trajectory_evaluate` is pure, in constant time, from any thread.
 */
#ifndef REPLAY_TRAJECTORY_H
#define REPLAY_TRAJECTORY_H

#include "num_spline.h"
#include "otolith/instant.h"
#include "otolith/records.h"
#include "rows.h"

enum trajectory_end { TRAJECTORY_HOLD = 1, TRAJECTORY_LOOP = 2 };

struct trajectory_options {
    double start_offset_s;
    int64_t at_end; /* enum trajectory_end */
    double position_smoothing_s, attitude_smoothing_s;
    double position_sigma_m, velocity_sigma_m_s;
    double standstill_speed_m_s, standstill_duration_s;
};

/*
 * The motion beyond an end of the splines, where each channel comes to rest: its rate goes to zero within stop_s along a
 * cubic Hermite polynomial. Before the first row time runs backwards: `direction` is -1.
 */
struct trajectory_coast {
    double direction;
    double position_stop_s, attitude_stop_s;
    double position[3], position_rate[3], position_accel[3];
    double attitude[4], attitude_rate[4], attitude_accel[4];
};

struct trajectory {
    struct num_spline_grid grid;
    double *position; /* control points × 3, about base_enu_m */
    double *attitude; /* control points × 4, a quaternion of any length */
    oto_vec3 base_enu_m;
    int64_t duration_ns;   /* from first to last row */
    int64_t offset_ns;     /* time from the start of a lap to time zero of the world */
    int64_t lead_ns;       /* loop: duration of the start from standstill to the first row */
    int64_t period_ns;     /* loop: duration of a lap; hold: 0 */
    struct trajectory_coast before, after;
    uint64_t still_rows;   /* rows within standstills */
};

/* Zeroed memory that lives as long as the trajectory; NULL when there is none. */
typedef void *trajectory_alloc(void *context, size_t bytes);

/* Fits the splines to the rows. `path` is for error messages. */
enum oto_status trajectory_fit(struct trajectory *trajectory, const struct rows *rows,
                               const struct trajectory_options *options, const char *path, trajectory_alloc *alloc,
                               void *alloc_context, struct oto_error *error);

/* The truth at an instant of the world, t_ns >= 0. */
void trajectory_evaluate(const struct trajectory *trajectory, struct oto_instant at,
                         struct oto_truth_record *truth);

struct trajectory_doubts {
    double course_error_rad; /* mean angle between body x and the travel while faster than 2 m/s; 0 if it never is */
    double upward;           /* mean of body z along up: 1 level, -1 upside down */
};

/* Computes numbers that show whether the file has wrong axes or a wrong direction of travel. */
struct trajectory_doubts trajectory_doubt(const struct trajectory *trajectory);

/* For the fit: the splines at x_s after the first row, 7 channels each (position, then attitude). */
void trajectory_spline(const struct trajectory *trajectory, double x_s, double value[7], double rate[7],
                       double accel[7]);

#endif
