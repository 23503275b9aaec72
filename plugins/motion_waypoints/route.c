#include "route.h"

#include "num_profile.h"
#include "num_truth.h"

/* The distance along the span, the speed, and the acceleration along the arc. */
struct progress {
    double way_m, speed_m_s, accel_m_s2;
};

static struct progress progress_in(const struct route_leg *leg, double tau_s)
{
    const double duration_s = (double)leg->duration_ns * 1e-9, s = tau_s / duration_s;
    const struct num_jet step = num_profile_jet(NUM_PROFILE_STEP, s), bump = num_profile_jet(NUM_PROFILE_BUMP, s);
    return (struct progress){
        leg->at_m + duration_s * (leg->speed_m_s * s + leg->speed_gain_m_s * num_profile_integral(NUM_PROFILE_STEP, s) +
                                  leg->speed_bump_m_s * num_profile_integral(NUM_PROFILE_BUMP, s)),
        leg->speed_m_s + leg->speed_gain_m_s * step.value + leg->speed_bump_m_s * bump.value,
        (leg->speed_gain_m_s * step.first + leg->speed_bump_m_s * bump.first) / duration_s};
}

/* An angle atan2(y, x), and its derivatives by u. */
struct angle {
    double value, first, second;
};

static struct angle angle_of(double y, double y1, double y2, double x, double x1, double x2)
{
    const double n = x * y1 - y * x1, d = x * x + y * y, n1 = x * y2 - y * x2, d1 = 2.0 * (x * x1 + y * y1);
    return (struct angle){oto_atan2(y, x), n / d, (n1 * d - n * d1) / (d * d)};
}

/* The body's x axis is the tangent. Derivatives by u are converted to derivatives by time. */
static void truth_at_point(const struct path_point *p, const struct progress *now, struct oto_truth_record *truth)
{
    const double *f = p->first, *g = p->second, *h = p->third;
    const double level = oto_hypot(f[0], f[1]), level1 = (f[0] * g[0] + f[1] * g[1]) / level;
    const double level2 = (g[0] * g[0] + g[1] * g[1] + f[0] * h[0] + f[1] * h[1] - level1 * level1) / level;
    const double stretch = oto_hypot(level, f[2]), stretch1 = (level * level1 + f[2] * g[2]) / stretch;
    const double du = now->speed_m_s / stretch, ddu = (now->accel_m_s2 - stretch1 * du * du) / stretch;
    const struct angle yaw = angle_of(f[1], g[1], h[1], f[0], g[0], h[0]);
    const struct angle rise = angle_of(f[2], g[2], h[2], level, level1, level2);
    const oto_vec3 first = oto_vec3_from_array(f), second = oto_vec3_from_array(g);
    const struct num_pose pose = {
        oto_vec3_from_array(p->value), oto_vec3_scale(first, du),
        oto_vec3_add_scaled(oto_vec3_scale(second, du * du), first, ddu),
        oto_vec3_make(p->value[3], -rise.value, yaw.value),
        oto_vec3_make(f[3] * du, -rise.first * du, yaw.first * du),
        oto_vec3_make(g[3] * du * du + f[3] * ddu, -rise.second * du * du - rise.first * ddu,
                      yaw.second * du * du + yaw.first * ddu)};
    num_truth_from_pose(&pose, truth);
    truth->longitudinal_speed_m_s = now->speed_m_s;
}

static const struct route_leg *leg_at(const struct route *route, int64_t t_ns)
{
    uint32_t low = 0, high = route->leg_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (route->legs[middle].start_ns <= t_ns)
            low = middle;
        else
            high = middle;
    }
    return &route->legs[low];
}

/* Straight ahead from the last waypoint, where the path's curvature has reached zero. */
static void truth_after_end(const struct route *route, double tau_s, struct oto_truth_record *truth)
{
    const struct progress now = {0.0, route->end_speed_m_s, 0.0};
    struct path_point p;
    path_point_at(&route->path.spans[route->path.span_count - 1], 1.0, &p);
    for (int k = 0; k < PATH_CHANNELS; k++)
        p.second[k] = p.third[k] = 0.0;
    p.first[3] = 0.0;
    truth_at_point(&p, &now, truth);
    truth->position_enu_m = oto_vec3_add_scaled(truth->position_enu_m, truth->velocity_enu_m_s, tau_s);
}

void route_truth(const struct route *route, struct oto_instant at, struct oto_truth_record *truth)
{
    const struct route_leg *leg;
    struct progress now;
    struct path_point point;
    if (route->path.loop)
        at.t_ns %= route->period_ns;
    if (at.t_ns >= route->period_ns) {
        truth_after_end(route, ((double)(at.t_ns - route->period_ns) + at.sub_ns) * 1e-9, truth);
        return;
    }
    leg = leg_at(route, at.t_ns);
    now = progress_in(leg, ((double)(at.t_ns - leg->start_ns) + at.sub_ns) * 1e-9);
    path_point_at(&route->path.spans[leg->span], path_u_at(&route->path.spans[leg->span], now.way_m), &point);
    truth_at_point(&point, &now, truth);
}
