/*
 * A smooth curve through waypoints: a quintic spline over their chord lengths, with four continuous derivatives, for
 * position and bank; and its arc length in both directions. `path_fit` may allocate and fail; the other functions are
 * pure, from any thread.
 */
#ifndef PATH_H
#define PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otolith/status.h"
#include "otolith/vecmath.h"

enum { PATH_CHANNELS = 4, PATH_DEGREE = 5, PATH_KNOTS = 16 }; /* channels: x, y, z in m, bank in rad */

/* Between two waypoints: polynomials of u in [0, 1]. */
struct path_span {
    double c[PATH_CHANNELS][PATH_DEGREE + 1];
    double length_m[PATH_KNOTS + 1]; /* arc length from u = 0 to i/PATH_KNOTS */
};

struct path {
    uint32_t span_count;
    bool loop; /* the last span leads back to the first waypoint */
    struct path_span *spans;
};

/* The channels at a point of a span, and their derivatives by u. */
struct path_point {
    double value[PATH_CHANNELS], first[PATH_CHANNELS], second[PATH_CHANNELS], third[PATH_CHANNELS];
};

struct path_waypoint {
    oto_vec3 position_enu_m;
    double bank_rad;
};

/* Zeroed memory that lives as long as the path; NULL when there is none. */
typedef void *path_alloc(void *context, size_t bytes);

/*
 * Fits a path. Needs at least two waypoints, three for a loop; consecutive waypoints must differ in position. At open ends
 * the curvature, its derivative, and the derivative of the bank are zero. INVALID also if the curve becomes vertical or
 * reverses within a span.
 */
enum oto_status path_fit(struct path *path, const struct path_waypoint *waypoints, uint32_t count, bool loop,
                         path_alloc *alloc, void *alloc_context, struct oto_error *error);

void path_point_at(const struct path_span *span, double u, struct path_point *point);

static inline double path_span_length_m(const struct path_span *span)
{
    return span->length_m[PATH_KNOTS];
}

/* The u at which the arc length from the start of the span is length_m, between 0 and the length of the span. */
double path_u_at(const struct path_span *span, double length_m);

#endif
