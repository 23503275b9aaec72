/*
 * A physics process: drives a car (kinematic bicycle, reference point at the rear axle) in lockstep with the world of
 * configs/worlds/external_truth.yaml. Argument: number of ticks (default 10000).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "otolith/participant.h"

#define WHEELBASE_M 2.7

struct car {
    double x_m, y_m, heading_rad, speed_m_s;
};

/*
 * Drives at up to 15 m/s and steers from side to side. The position within a tick is approximate; the rates are exact.
 */
static void drive(struct car *car, double t_s, double dt_s, struct oto_truth_record *truth)
{
    const double accel_m_s2 = car->speed_m_s < 15.0 ? 2.0 : 0.0;
    const double steer_rad = 0.05 * sin(0.5 * t_s), steer_rate_rad_s = 0.025 * cos(0.5 * t_s);
    car->speed_m_s += accel_m_s2 * dt_s;
    const double c = cos(steer_rad), yaw_rate_rad_s = car->speed_m_s * tan(steer_rad) / WHEELBASE_M;
    car->heading_rad += yaw_rate_rad_s * dt_s;
    const double ex = cos(car->heading_rad), ey = sin(car->heading_rad);
    car->x_m += car->speed_m_s * ex * dt_s;
    car->y_m += car->speed_m_s * ey * dt_s;
    const double turn_m_s2 = car->speed_m_s * yaw_rate_rad_s;
    const double yaw_accel_rad_s2 =
        (accel_m_s2 * tan(steer_rad) + car->speed_m_s * steer_rate_rad_s / (c * c)) / WHEELBASE_M;
    truth->position_enu_m = oto_vec3_make(car->x_m, car->y_m, 0);
    truth->velocity_enu_m_s = oto_vec3_make(car->speed_m_s * ex, car->speed_m_s * ey, 0);
    truth->accel_enu_m_s2 = oto_vec3_make(accel_m_s2 * ex - turn_m_s2 * ey, accel_m_s2 * ey + turn_m_s2 * ex, 0);
    truth->q_enu_from_body = oto_quat_make(cos(0.5 * car->heading_rad), 0, 0, sin(0.5 * car->heading_rad));
    truth->angular_rate_body_rad_s = oto_vec3_make(0, 0, yaw_rate_rad_s);
    truth->angular_accel_body_rad_s2 = oto_vec3_make(0, 0, yaw_accel_rad_s2);
}

int main(int argc, char **argv)
{
    const struct oto_participant_options options = {.size = sizeof options, .name = "physics", .answer_ms = -1};
    const uint64_t ticks = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000;
    struct oto_participant *world = NULL;
    struct oto_error error = {0};
    struct oto_grant grant = {0};
    struct oto_truth_record truth = {0};
    struct car car = {0};
    enum oto_status status = oto_participant_join(&options, &world, &error);
    for (uint64_t i = 0; status == OTO_OK && i < ticks; i++) {
        status = oto_participant_wait(world, 10000, &grant, &error);
        drive(&car, (double)grant.until_ns * 1e-9, grant.dt_s, &truth);
        status = status == OTO_OK ? oto_participant_set(world, 0, &truth, OTO_TRUTH_HAS_ACCEL | OTO_TRUTH_HAS_ANGULAR_ACCEL) : status;
        status = status == OTO_OK ? oto_participant_done(world, grant.until) : status;
    }
    (void)printf("%s after tick %llu: x %.2f m, y %.2f m\n", status == OTO_OK ? "done" : error.text,
                 (unsigned long long)grant.until, car.x_m, car.y_m);
    oto_participant_leave(world);
    return status == OTO_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
