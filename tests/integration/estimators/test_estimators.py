"""The estimators as a user runs them: the example world, and recorded drives by one command each."""
import csv
import gzip
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BIN, SOURCE = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
OTOLITH = BIN / "otolith"
DRIVES = SOURCE / "../shared/data/robot_localization"
SECONDS = 45


class Estimators(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="otolith-estimators-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def otolith(self, *arguments):
        runtime = self.folder / "run"
        runtime.mkdir(exist_ok=True)
        done = subprocess.run([OTOLITH, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
                              timeout=300, env={**os.environ, "XDG_RUNTIME_DIR": str(runtime)})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def last(self, name):
        with open(self.folder / name, newline="") as file:
            row = None
            for row in csv.DictReader(file):
                pass
        return {key: float(value) for key, value in row.items() if value}

    def within(self, estimate, sigma, known, name):
        self.assertGreater(sigma, 0, name)
        self.assertLessEqual(abs(estimate - known), 4 * sigma, name)

    def test_the_world_of_estimators_finds_its_way_and_the_errors_of_its_sensors(self):
        self.otolith("run", SOURCE / "configs/worlds/estimator.yaml", "-f", f"{SECONDS}s", "-m", "asap", "-q", "-P",
                     "-c", "car/ins=ins.csv", "-c", "car/ekf=ekf.csv", "-c", "car/motion=truth.csv")
        ins, ekf, truth = self.last("ins.csv"), self.last("ekf.csv"), self.last("truth.csv")
        self.assertEqual(ins["t_ns"], truth["t_ns"])
        self.assertEqual([ins["status"], ins["refused"], ins["late"], ins["singular"]], [1, 0, 0, 0])
        self.assertEqual([ekf["status"], ekf["refused"], ekf["late"], ekf["singular"]], [1, 0, 0, 0])
        for axis in "xyz":
            self.within(ins[f"position_enu_m.{axis}"], ins[f"position_sigma_enu_m.{axis}"], truth[f"position_enu_m.{axis}"], axis)
        for axis in "xy":
            self.assertLess(abs(ekf[f"position_enu_m.{axis}"] - truth[f"position_enu_m.{axis}"]), 3.0)
        # what the world's file gives its sensors
        for axis, gyro, accel in zip("xyz", (0.002, -0.001, 0.0015), (0.05, -0.03, 0.08)):
            self.within(ins[f"gyro_bias_sensor_rad_s.{axis}"], ins[f"gyro_bias_sigma_sensor_rad_s.{axis}"], gyro, "gyroscope " + axis)
            self.within(ins[f"accel_bias_sensor_m_s2.{axis}"], ins[f"accel_bias_sigma_sensor_m_s2.{axis}"], accel, "accelerometer " + axis)
        self.within(ins["speed_scale"], ins["speed_scale_sigma"], 1.004, "odometer")

    def drive(self, number, end, tolerance_m):
        for part in ("imu", "odom"):
            packed = DRIVES / f"bag{number}_{part}.csv.gz"
            if not packed.is_file():
                self.skipTest(f"there is no {packed}")
            with gzip.open(packed, "rb") as source, open(self.folder / f"{part}.csv", "wb") as target:
                shutil.copyfileobj(source, target)
        self.otolith("estimate", "--plugin", "ekf", "--params", SOURCE / f"configs/estimators/robot_localization_{number}.yaml",
                     "--in", "imu.csv", "--in", "odom.csv", "--out", "est.csv")
        last = self.last("est.csv")
        self.assertLessEqual(math.dist([last[f"position_enu_m.{axis}"] for axis in "xyz"], end), tolerance_m)

    def test_the_first_drive_of_robot_localization_ends_where_its_test_asks(self):
        self.drive(1, (-40.0454, -76.9988, -2.6974), 1.0452)

    def test_the_second_drive_of_robot_localization_ends_where_its_test_asks(self):
        self.drive(2, (1.0206, 3.4292, 0.7419), 0.1383)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
