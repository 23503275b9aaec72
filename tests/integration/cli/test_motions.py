"""Every motion plugin in a world: it starts at its initial state, and an ideal IMU measures its motion."""
import csv
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN, SOURCE = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
OTOLITH = str(BIN / "otolith")
G = 9.80665
PLANE = {"x_m": 30, "y_m": -20}
SPEED = {"vx_m_s": 8, "vy_m_s": -3}
MOTIONS = {
    "stationary": {"initial": PLANE | {"z_m": 5, "roll_rad": 0.1, "pitch_rad": -0.2, "yaw_rad": 1.0}},
    "constant_velocity": {"initial": PLANE | SPEED},
    "constant_acceleration": {"initial": PLANE | SPEED | {"ax_m_s2": 0.5, "ay_m_s2": 1.0}},
    "ctrv": {"initial": PLANE | {"yaw_rad": 1.0, "v_m_s": 8, "w_rad_s": 0.3}},
    "catr": {"initial": PLANE | {"th_rad": 1.0, "v_m_s": 8, "a_m_s2": -1, "w_rad_s": 0.3}},
    "catr_box": {"initial": PLANE | {"th_rad": 1.0, "v_m_s": 8, "a_m_s2": -1, "w_rad_s": 0.3, "length_m": 4, "width_m": 2}},
    "parameter_estimator": {"count": 3, "initial": {"p0": 1}},
    "linear_xy": {"initial": PLANE | SPEED | {"ax_m_s2": 0.5}},
    "linear_xyz": {"initial": PLANE | SPEED | {"z_m": 5, "vz_m_s": 1, "az_m_s2": -0.5}},
    "linear_xyyaw": {"initial": PLANE | SPEED | {"yaw_rad": 1.0, "yaw_rate_rad_s": 0.2, "yaw_accel_rad_s2": 0.1}},
    "linear_xyzyaw": {"initial": PLANE | SPEED | {"z_m": 5, "yaw_rad": 1.0, "yaw_rate_rad_s": 0.2}},
    "linear_xyzrpy": {"initial": PLANE | SPEED | {"roll_rad": 0.1, "pitch_rad": -0.2, "roll_rate_rad_s": 0.3,
                                                  "pitch_rate_rad_s": 0.2, "yaw_rate_rad_s": -0.4}},
    "kinematic_bicycle": {"steering_rad": 0.1, "accel_m_s2": 0.5, "initial": PLANE | {"yaw_rad": 1.0, "u_m_s": 8}},
    "linear_tyre": {"steering_rate_rad_s": 0.02, "jerk_m_s3": 0.1, "initial": PLANE | {"yaw_rad": 1.0, "u_m_s": 15}},
    "rigid_body_6dof": {"mass_kg": 2, "inertia_kg_m2": [1, 2, 3], "gravity_enu_m_s2": [0, 0, -G],
                        "moment_body_nm": [0.1, 0, 0], "initial": PLANE | {"z_m": 500, "vx_m_s": 8, "wz_rad_s": 0.5}},
    "script": {"position_enu_m": [30, -20, 5], "segments": [{"kind": "slalom", "distance_m": 15, "count": 4, "offset_m": 2},
                                                            {"kind": "figure_eight", "radius_m": 15}], "speed_m_s": 8},
    "script city": {"position_enu_m": [30, -20, 5], "generate": "city", "road": {"grade_rms_deg": 1, "crown_deg": 0.5},
                    "suspension": {"pitch_compliance_deg_s2_m": -0.3}, "vibration": {"vertical_rms_m_s2": 0.6}},
    "script highway": {"position_enu_m": [30, -20, 5], "generate": "highway", "seed": 4},
    "script parking": {"position_enu_m": [30, -20, 5], "generate": "parking", "duration_s": 5},
    "waypoints": {"waypoints": [{"position_enu_m": p} for p in ([30, -20, 5], [60, 0, 6], [70, 40, 7])]},
}


def rotate_back(row, v):
    """ENU to body by the truth's quaternion."""
    w, x, y, z = (float(row["q_enu_from_body." + k]) for k in "wxyz")
    m = [[1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)],
         [2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)],
         [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]]
    return [sum(m[i][k] * v[k] for k in range(3)) for i in range(3)]


def vector(row, name):
    return [float(row[f"{name}.{k}"]) for k in "xyz"]


class Motions(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-motions-")
        self.path = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def drive(self, plugin, params):
        world = {"world": "motions", "seed": 3, "clock": {"rate_hz": 1000, "mode": "asap"},
                 "environment": {"gravity": [0, 0, -G], "magnetic_field": [0, 20, -40]},
                 "vehicles": [{"name": "car", "motion": {"plugin": plugin, "params": params},
                               "nodes": [{"name": "imu", "plugin": "mems_imu", "rate_hz": 250}]}]}
        (self.path / "world.json").write_text(json.dumps(world))
        tables = {topic: self.path / f"{topic}.csv" for topic in ("motion", "imu")}
        command = [OTOLITH, "run", str(self.path / "world.json"), "--for", "3s", "--quiet", "--no-publish"]
        for topic, table in tables.items():
            command += ["--csv", f"motions/car/{topic}={table}"]
        result = subprocess.run(command, capture_output=True, text=True, timeout=300,
                                env=os.environ | {"XDG_RUNTIME_DIR": self.directory.name})
        self.assertEqual(result.returncode, 0, result.stderr)
        return [{int(row["t_ns"]): row for row in csv.DictReader(io.StringIO(table.read_text()))} for table in tables.values()]

    def check(self, name, params):
        truth, imu = self.drive("motion_" + name.split()[0], params)
        self.assertEqual(len(truth), 3000)
        self.assertEqual(len(imu), 750)
        first = truth[1000000]
        start = params.get("position_enu_m", [30, -20])
        if name != "parameter_estimator":
            self.assertLess(math.dist(vector(first, "position_enu_m")[:2], start[:2]), 0.1)
        for t_ns, sample in imu.items():
            row = truth[t_ns]
            felt = rotate_back(row, [a + g for a, g in zip(vector(row, "accel_enu_m_s2"), [0, 0, G])])
            for got, want in zip(vector(sample, "linear_acceleration"), felt):
                self.assertAlmostEqual(got, want, delta=1e-9)
            for got, want in zip(vector(sample, "angular_velocity"), vector(row, "angular_rate_body_rad_s")):
                self.assertAlmostEqual(got, want, delta=1e-12)
        return truth, imu

    def test_b1_every_motion_is_a_vehicles_truth_that_an_imu_feels(self):
        for name, params in MOTIONS.items():
            with self.subTest(name):
                self.check(name, params)

    def test_a_body_in_free_fall_feels_nothing(self):
        params = MOTIONS["rigid_body_6dof"]
        truth, imu = self.check("rigid_body_6dof", params)
        for sample in imu.values():
            self.assertLess(max(map(abs, vector(sample, "linear_acceleration"))), 1e-9)
        self.assertAlmostEqual(vector(truth[3000000000], "position_enu_m")[2], 500 - 0.5 * G * 9, delta=1e-9)

    def test_a_segment_that_cannot_be_driven_is_named_with_its_place(self):
        world = self.path / "bad.yaml"
        world.write_text("world: bad\nvehicles:\n  - name: car\n    motion:\n      plugin: motion_script\n      params:\n"
                         "        speed_m_s: 5\n        segments:\n          - {kind: cruise, duration_s: 1}\n"
                         "          - {kind: slalom, count: 3}\n")
        result = subprocess.run([OTOLITH, "check", str(world)], capture_output=True, text=True, timeout=300)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("segments[1]: a slalom needs a speed that is not 0 and a distance_m above 0", result.stderr)
        self.assertIn("bad/car/motion", result.stderr)

    def test_an_end_without_a_generated_drive_is_refused(self):
        world = self.path / "bad.yaml"
        world.write_text("world: bad\nvehicles:\n  - {name: car, motion: {plugin: motion_script, params: {duration_s: 5}}}\n")
        result = subprocess.run([OTOLITH, "check", str(world)], capture_output=True, text=True, timeout=300)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("duration_s: 5 is given, but nothing is generated", result.stderr)


if __name__ == "__main__":
    unittest.main()
