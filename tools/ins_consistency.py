#!/usr/bin/python3
"""How far the errors of ins_ekf are those that it reports: NEES and position over five minutes of a generated city.

    ins_consistency.py [--seeds 24] [--springs] [--aids odometer+fixes …] [--build build/release]

Each seed is a drive from rest: an IMU 0.4 m above the axle with biases of 0.3 deg/s and 0.05 m/s^2, an odometer at 50 Hz, fixes of
1 m each second. The start is told with 2 deg of heading. Printed are, after 1, 2 and 5 minutes, the mean NEES of nine states
with its bounds (95 %) for a filter that is right, its median, and the rms error of the place over the sigma that was reported.
"""
import argparse
import csv
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
LEVEL = "{generate: city}"
SPRINGS = ("{generate: city, road: {grade_rms_deg: 1.0, bank_rms_deg: 0.6, crown_deg: 1.0}, "
           "suspension: {pitch_compliance_deg_s2_m: -0.30, roll_compliance_deg_s2_m: 0.35}, "
           "vibration: {pitch_rms_deg: 0.15, roll_rms_deg: 0.15, vertical_rms_m_s2: 0.4}}")
WORLD = """
world: consistency
seed: 1
clock: {rate_hz: 100, mode: asap}
environment: {gravity: [0, 0, -9.80665]}
vehicles:
  - name: car
    motion:
      plugin: motion_script
      params: MOTION
    nodes:
      - name: imu
        plugin: mems_imu
        rate_hz: 100
        mount: {position_m: [0.2, 0, 0.4]}
        params:
          accelerometer: {noise_density_m_s2_rthz: 0.002, turn_on_bias_m_s2: 0.05, random_walk_m_s2_rthz: 2e-4}
          gyroscope: {noise_density_rad_s_rthz: 1.2e-4, turn_on_bias_rad_s: 5.2e-3, random_walk_rad_s_rthz: 1e-5}
      - {name: odo, plugin: odometer, rate_hz: 50, params: {noise_m_s: 0.05}}
publish: false
"""
FILTER = """
gyroscope: {noise_density_rad_s_rthz: 1.2e-4, bias_sigma_rad_s: 5.2e-3, bias_walk_rad_s_rts: 1e-5}
accelerometer: {noise_density_m_s2_rthz: 0.002, bias_sigma_m_s2: 0.05, bias_walk_m_s2_rts: 2e-4}
initial: {position_sigma_m: 0.1, rpy_sigma_deg: [5, 5, 2]}
odometer: {sigma_m_s: 0.05, scale_sigma: 0.01}
position: {sigma_m: [1, 1, 1.5], position_m: [0, 0, 0]}
"""
AIDS = ("odometer", "odometer+fixes", "odometer+standstill", "odometer+standstill+fixes", "odometer+standstill+constraint",
        "odometer+standstill+constraint+fixes")


def call(options, *words):
    done = subprocess.run([options.build / "bin" / "otolith", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"otolith {' '.join(map(str, words[:3]))}: {done.stderr}")


def make_drive(options, seed, folder):
    """Logs of one drive in `folder`, and the heading that the filter is told."""
    chance = random.Random(seed)
    (folder / "world.yaml").write_text(WORLD.replace("MOTION", SPRINGS if options.springs else LEVEL))
    logs = [word for topic in ("imu", "odo", "motion") for word in ("--csv", f"consistency/car/{topic}={folder}/{topic}.csv")]
    call(options, "run", folder / "world.yaml", "--seed", seed, "--quiet", "--mode", "asap", "--for", "300s", *logs)
    with open(folder / "motion.csv", newline="") as file:
        truth = list(csv.DictReader(file))
    with open(folder / "fixes.csv", "w") as file:
        file.write("t_ns,position_enu_m.x,position_enu_m.y,position_enu_m.z\n")
        for row in truth[49::100]:
            fix = (float(row[f"position_enu_m.{axis}"]) + sigma * chance.gauss(0, 1) for axis, sigma in zip("xyz", (1, 1, 1.5)))
            file.write(",".join([row["t_ns"], *map(repr, fix)]) + "\n")
    w, x, y, z = (float(truth[0][f"q_enu_from_body.{k}"]) for k in "wxyz")
    return math.degrees(math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))) + 2 * chance.gauss(0, 1)


def estimate(options, folder, aids, yaw_deg):
    """NEES, squared error and variance of the level position at each of MINUTES."""
    constraint, still = (10 if "constraint" in aids else 0), (5 if "standstill" in aids else 0)
    (folder / "filter.yaml").write_text(f"{FILTER}nonholonomic: {{rate_hz: {constraint}}}\n"
                                        f"zero_velocity: {{rate_hz: {still}, threshold_m_s: 0.25}}\n")
    fixes = ["--in", f"position={folder}/fixes.csv"] if "fixes" in aids else []
    call(options, "estimate", "--plugin", "ins_ekf", "--params", folder / "filter.yaml", "--clock", 100, "--rate", 1, "--from", "0s",
         "--mount", "imu=0.2,0,0.4,0,0,0", "--in", f"imu={folder}/imu.csv", "--in", f"odometer={folder}/odo.csv",
         "--in", f"truth={folder}/motion.csv", *fixes, "--set", f"initial.rpy_deg=[0, 0, {yaw_deg}]",
         "--out", folder / "estimate.csv", "--out", f"state={folder}/state.csv")
    found = []
    with open(folder / "estimate.csv", newline="") as one, open(folder / "state.csv", newline="") as other:
        for row, state in zip(csv.DictReader(one), csv.DictReader(other)):
            if int(row["t_ns"]) in [60 * 10**9 * minute for minute in MINUTES]:
                found.append((float(row["nees"]), float(state["error.0"]) ** 2 + float(state["error.1"]) ** 2,
                              sum(float(row[f"position_sigma_enu_m.{axis}"]) ** 2 for axis in "xy")))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--springs", action="store_true", help="a road with grade, bank and crown, and a body on springs")
    parser.add_argument("--aids", nargs="+", choices=AIDS, default=AIDS)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    options = parser.parse_args()
    results = {aids: [] for aids in options.aids}
    with tempfile.TemporaryDirectory(prefix="otolith-consistency-") as directory:
        os.environ["XDG_RUNTIME_DIR"] = directory
        for seed in range(1, options.seeds + 1):
            yaw_deg = make_drive(options, seed, Path(directory))
            for aids, found in results.items():
                found.append(estimate(options, Path(directory), aids, yaw_deg))
    half_width = 1.96 * math.sqrt(2 * STATES / options.seeds)
    print(f"{options.seeds} seeds: a filter that is right has a mean NEES from {STATES - half_width:.1f} to {STATES + half_width:.1f}")
    for aids, found in results.items():
        for i, minute in enumerate(MINUTES):
            nees, error, variance = zip(*(drive[i] for drive in found))
            print(f"{aids}, {minute} min: NEES {statistics.mean(nees):.1f}, median {statistics.median(nees):.1f}; position "
                  f"{math.sqrt(statistics.mean(error)):.1f} m, sigma {math.sqrt(statistics.mean(variance)):.1f} m")
    return 0


if __name__ == "__main__":
    sys.exit(main())
