#!/usr/bin/python3
"""
A physics process: drives a car (kinematic bicycle, reference at the rear axle) in lockstep with the world of
configs/worlds/external_truth.yaml, and says what its IMU felt. usage: physics_process.py [TICKS]
"""
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import otolith  # noqa: E402

WHEELBASE_M = 2.7
x_m = y_m = heading_rad = speed_m_s = 0.0
ticks = int(sys.argv[1]) if len(sys.argv) > 1 else 10000

with otolith.Participant("physics") as car:
    imu, felt = car.world["car/imu"].reader(), []
    for _ in range(ticks):
        grant = car.wait()
        t_s, dt_s = grant.until_ns * 1e-9, grant.dt_s
        # the controls: up to 15 m/s, steering to and fro
        accel_m_s2 = 2.0 if speed_m_s < 15.0 else 0.0
        steer_rad, steer_rate_rad_s = 0.05 * math.sin(0.5 * t_s), 0.025 * math.cos(0.5 * t_s)
        # the bicycle
        speed_m_s += accel_m_s2 * dt_s
        yaw_rate = speed_m_s * math.tan(steer_rad) / WHEELBASE_M
        yaw_accel = (accel_m_s2 * math.tan(steer_rad)
                     + speed_m_s * steer_rate_rad_s / math.cos(steer_rad) ** 2) / WHEELBASE_M
        heading_rad += yaw_rate * dt_s
        east, north = math.cos(heading_rad), math.sin(heading_rad)
        x_m += speed_m_s * east * dt_s
        y_m += speed_m_s * north * dt_s
        turn_m_s2 = speed_m_s * yaw_rate
        car.set((x_m, y_m, 0), (speed_m_s * east, speed_m_s * north, 0),
                (math.cos(heading_rad / 2), 0, 0, math.sin(heading_rad / 2)), (0, 0, yaw_rate),
                (accel_m_s2 * east - turn_m_s2 * north, accel_m_s2 * north + turn_m_s2 * east, 0), (0, 0, yaw_accel))
        car.done()
        samples = imu.read() if grant.until % 100 == 0 else ()  # a controller would use them now
        felt.extend(samples["linear_acceleration.y"] if len(samples) else ())
print(f"done after tick {grant.until}: x {x_m:.2f} m, y {y_m:.2f} m, {len(felt)} IMU samples, "
      f"largest lateral {max(map(abs, felt), default=0.0):.2f} m/s^2")
