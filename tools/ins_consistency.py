#!/usr/bin/python3
"""How far the errors of ins_ekf are those that it reports: NEES and position over five minutes of a generated city.

    ins_consistency.py [--seeds 50] [--road level springs] [--odometer noise encoder] [--aids odometer+fixes …] [--jobs 1] [--build build/release]

Each seed is a drive from rest with one filter for each of --aids: an IMU 0.4 m above the axle with biases of 0.3 deg/s and
0.05 m/s^2, an odometer at 50 Hz, fixes of 1 m with velocities of 0.05 m/s each second. The start is at rest, and known to 0.1 m and 2 deg of
heading. Road `springs`: grade, bank and crown, a body on springs, and vibration. Odometer: white noise of 0.05 m/s; the same and a
scale of 1 %; wheel encoders with ticks, slip, missed ticks, delay, and radii that are wrong by 0.5 %, drawn for each seed.

Printed is a table with the mean NEES of nine states after 1, 2 and 5 minutes, and after 5 minutes the rms error of the level position
and the sigma that was reported. Means outside the 95 % bounds of a filter that is right are marked !; exit code 1 if there are any.
"""
import argparse
import concurrent.futures
import csv
import itertools
import json
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MINUTES = (1, 2, 5)
STATES = 9
MOTION = {"generate": "city"}
SPRINGS = {"road": {"grade_rms_deg": 1.0, "bank_rms_deg": 0.6, "crown_deg": 1.0},
           "suspension": {"pitch_compliance_deg_s2_m": -0.30, "roll_compliance_deg_s2_m": 0.35},
           "vibration": {"pitch_rms_deg": 0.15, "roll_rms_deg": 0.15, "vertical_rms_m_s2": 0.4}}
IMU = {"accelerometer": {"noise_density_m_s2_rthz": 0.002, "turn_on_bias_m_s2": 0.05, "random_walk_m_s2_rthz": 2e-4},
       "gyroscope": {"noise_density_rad_s_rthz": 1.2e-4, "turn_on_bias_rad_s": 5.2e-3, "random_walk_rad_s_rthz": 1e-5}}
ENCODER = {"ticks_per_turn": 96, "slip_percent_m_s2": 0.3, "missed_tick_probability": 1e-4,
           "direction": "sensed", "delay_ms": 10}
RADIUS_SIGMA_PERCENT = 0.5  # drawn for each seed: an error of the unit is the same in every world
FIXES = {"mode": "single", "single": {"position_sigma_m": 0, "position_white_m": [1, 1.5], "velocity_sigma_m_s": 0,
                                      "velocity_white_m_s": 0.05}}
FILTER = {"gyroscope": {"noise_density_rad_s_rthz": 1.2e-4, "bias_sigma_rad_s": 5.2e-3, "bias_walk_rad_s_rts": 1e-5},
          "accelerometer": {"noise_density_m_s2_rthz": 0.002, "bias_sigma_m_s2": 0.05, "bias_walk_m_s2_rts": 2e-4},
          "gnss": {"correlated_share": 0, "velocity_correlated_share": 0}}
# The noise of the odometer in the parameters of the filter: white, and correlated (ticks, delay while the car accelerates).
ODOMETER_NOISE = {"noise": {"sigma_m_s": 0.05}, "scale": {"sigma_m_s": 0.05},
                  "encoder": {"sigma_m_s": 0.001, "coloured_sigma_m_s": 0.0008, "coloured_tau_s": 5, "window_s": 0.02, "tick_m": 0.0203,
                              "gate": 0.9999}}
# On a level road without springs the constraint holds exactly; on springs the body also swings up and down.
CONSTRAINT = {"level": {"sigma_m_s": 0.0002, "angle_sigma_deg": 0, "compliance_sigma_deg_s2_m": 0},
              "springs": {"sigma_m_s": [0.0007, 0.015], "angle_sigma_deg": 0.2, "compliance_sigma_deg_s2_m": 0.3}}
SCALE_AND_SLIP = {"noise": {"scale_sigma": 0, "slip_sigma_percent_m_s2": 0}, "scale": {"scale_sigma": 0.01, "slip_sigma_percent_m_s2": 0},
                  "encoder": {"scale_sigma": 0.01, "slip_sigma_percent_m_s2": 0.3}}
AIDS = ("odometer", "odometer+fixes", "odometer+constraint", "odometer+standstill", "odometer+standstill+fixes",
        "odometer+standstill+constraint", "odometer+constraint+fixes", "odometer+standstill+constraint+fixes")


def odometer_node(odometer, chance):
    if odometer == "encoder":
        radii = [chance.gauss(0, RADIUS_SIGMA_PERCENT) for _ in range(4)]
        return {"name": "odo", "plugin": "wheel_encoder", "rate_hz": 50, "params": {**ENCODER, "radius_error_percent": radii}}
    scale = {"scale_error_percent": chance.gauss(0, 1)} if odometer == "scale" else {}
    return {"name": "odo", "plugin": "odometer", "rate_hz": 50, "params": {"noise_m_s": 0.05, "standstill_threshold_m_s": 0.05, **scale}}


def filter_node(road, odometer, aids, start):
    constraint = {"rate_hz": 10 if "constraint" in aids else 0, **CONSTRAINT[road]}
    params = {**FILTER, "odometer": {**ODOMETER_NOISE[odometer], **SCALE_AND_SLIP[odometer]}, "nonholonomic": constraint,
              "zero_velocity": {"rate_hz": 5 if "standstill" in aids else 0, "sigma_m_s": 0.0005, "sigma_rad_s": 1e-5},
              "initial": {"position_sigma_m": 0.1, "velocity_sigma_m_s": 0.002, "rpy_sigma_deg": [5, 5, 2], "rpy_deg": [0, 0, start[0]],
                          "position_enu_m": start[1:]}}
    inputs = {"imu": "imu", "odometer": "odo", "truth": "motion", **({"gnss": "gnss"} if "fixes" in aids else {})}
    return {"name": name_of(aids), "plugin": "ins_ekf", "rate_hz": 4, "inputs": inputs, "params": params}


def name_of(aids):
    return "".join(aid[0] for aid in aids.split("+"))


def world_of(road, odometer, all_aids, seed):
    """A world as JSON, which is YAML too. The generated drive starts at the origin, heading east."""
    chance = random.Random(seed)
    start = [2 * chance.gauss(0, 1), *(0.1 * chance.gauss(0, 1) for _ in "xyz")]
    nodes = [{"name": "imu", "plugin": "mems_imu", "rate_hz": 100, "mount": {"position_m": [0.2, 0, 0.4]}, "params": IMU},
             odometer_node(odometer, chance), {"name": "gnss", "plugin": "gnss", "rate_hz": 1, "params": FIXES},
             *(filter_node(road, odometer, aids, start) for aids in all_aids)]
    motion = {"plugin": "motion_script", "params": {**MOTION, **(SPRINGS if road == "springs" else {})}}
    return {"world": "consistency", "origin": {"latitude_deg": 48.137, "longitude_deg": 11.575, "altitude_m": 566},
            "clock": {"rate_hz": 100, "mode": "asap"}, "environment": {"gravity": [0, 0, -9.80665]},
            "vehicles": [{"name": "car", "motion": motion, "nodes": nodes}], "publish": False}


def rows_of(path):
    with open(path, newline="") as file:
        return {int(row["t_ns"]) // 10**9: row for row in csv.DictReader(file) if int(row["t_ns"]) % 10**9 == 0}


def run(options, road, odometer, seed):
    """For each of the aids: NEES, squared error and variance of the level position at each of MINUTES."""
    with tempfile.TemporaryDirectory(prefix="otolith-consistency-") as directory:
        folder = Path(directory)
        (folder / "world.yaml").write_text(json.dumps(world_of(road, odometer, options.aids, seed)))
        (folder / "run").mkdir(mode=0o700)
        logs = [f"consistency/car/{name_of(aids)}{port}={folder}/{name_of(aids)}{port}.csv" for aids in options.aids
                for port in ("", ".state")]
        words = ["run", folder / "world.yaml", "--seed", seed, "--quiet", "--no-publish", "--for", f"{60 * MINUTES[-1]}s",
                 *(word for log in logs for word in ("--csv", log))]
        done = subprocess.run([options.build / "bin" / "otolith", *map(str, words)], capture_output=True, text=True, check=False,
                              env={**os.environ, "XDG_RUNTIME_DIR": str(folder / "run")})
        if done.returncode != 0:
            sys.exit(f"seed {seed}: {done.stderr}")
        found = {}
        for aids in options.aids:
            one, other = rows_of(folder / f"{name_of(aids)}.csv"), rows_of(folder / f"{name_of(aids)}.state.csv")
            found[aids] = [(float(one[60 * minute]["nees"]),
                            float(other[60 * minute]["error.0"]) ** 2 + float(other[60 * minute]["error.1"]) ** 2,
                            sum(float(one[60 * minute][f"position_sigma_enu_m.{axis}"]) ** 2 for axis in "xy")) for minute in MINUTES]
        return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--road", nargs="+", choices=tuple(CONSTRAINT), default=tuple(CONSTRAINT))
    parser.add_argument("--odometer", nargs="+", choices=tuple(ODOMETER_NOISE), default=("noise", "encoder"))
    parser.add_argument("--aids", nargs="+", choices=AIDS, default=AIDS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    options = parser.parse_args()
    half_width = 1.96 * math.sqrt(2 * STATES / options.seeds)
    good = True
    print(f"{options.seeds} seeds, 95 % bounds of the mean NEES: {STATES - half_width:.1f} to {STATES + half_width:.1f}\n")
    print("| road | odometer | aids | NEES after 1, 2, 5 min | position: rms error | sigma |\n|---|---|---|---|---|---|")
    for road, odometer in itertools.product(options.road, options.odometer):
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            drives = list(pool.map(lambda seed: run(options, road, odometer, seed), range(options.first, options.first + options.seeds)))
        for aids in options.aids:
            means = [statistics.mean(drive[aids][i][0] for drive in drives) for i in range(len(MINUTES))]
            marks = ["" if abs(mean - STATES) <= half_width else "!" for mean in means]
            good = good and not any(marks)
            error, variance = (statistics.mean(drive[aids][-1][k] for drive in drives) for k in (1, 2))
            print(f"| {road} | {odometer} | {', '.join(aids.split('+')[1:]) or 'none'} | {', '.join(f'{m:.1f}{mark}' for m, mark in zip(means, marks))} | "
                  f"{math.sqrt(error):.2f} m | {math.sqrt(variance):.2f} m |", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
