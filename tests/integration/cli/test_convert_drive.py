"""Logs of public datasets become the files that `otolith calibrate mount` reads: small files of each format, written here."""
import csv
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
TOOL = SOURCE / "tools" / "convert_drive.py"
G = 9.80665


def drive(count, rate_hz):
    """Times, specific force and rate in forward, left, up, and speed: at rest, then a start, then a turn."""
    t_s = np.arange(count) / rate_hz
    accel = np.where((t_s > 3) & (t_s < 8), 2.0, 0.0)
    speed = np.cumsum(accel) / rate_hz
    turn = np.where(t_s > 8, 0.3, 0.0)
    none = np.zeros(count)
    return t_s, np.column_stack([accel, speed * turn, none + G]), np.column_stack([none, none, turn]), speed


class Converts(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-convert-")
        self.path = pathlib.Path(self.directory.name)
        self.out = self.path / "out"

    def tearDown(self):
        self.directory.cleanup()

    def call(self, *words, code=0):
        done = subprocess.run([sys.executable, "-B", TOOL, *words], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def rows(self, name):
        with open(self.out / name, newline="") as file:
            return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(file)]

    def calibrate(self, command):
        """The printed command; a drive of seconds is not enough, but nothing of it may be refused."""
        words = command.split()
        self.assertEqual(words[:3], ["otolith", "calibrate", "mount"])
        done = subprocess.run([BIN / "otolith", *words[1:], "--json"], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def write_kitti(self, rate_hz, count=1200):
        t_s, force, rate, speed = drive(count, rate_hz)
        folder = self.path / "drive" / "oxts"
        (folder / "data").mkdir(parents=True)
        stamps = np.datetime64("2011-09-26T13:02:25.594360375", "ns") + np.round(t_s * 1e9).astype(np.int64)
        (folder / "timestamps.txt").write_text("".join(str(stamp).replace("T", " ") + "\n" for stamp in stamps))
        for i in range(count):
            fields = np.zeros(30)
            fields[8], fields[11:14], fields[17:20] = speed[i], force[i], rate[i]
            fields[14:17], fields[20:23] = -99, -99  # the same along other axes: not to be taken
            (folder / "data" / f"{i:010d}.txt").write_text(" ".join(f"{field:.12g}" for field in fields) + "\n")
        return t_s, force, rate, speed

    def test_kitti(self):
        t_s, force, rate, speed = self.write_kitti(100)
        found = self.calibrate(self.call("kitti", self.path / "drive", self.out))
        self.assertAlmostEqual(found["seconds"], 12, delta=0.3)
        imu, wheels = self.rows("imu.csv"), self.rows("speed.csv")
        self.assertEqual((len(imu), len(wheels)), (1200, 1200))
        for i in (0, 500, 1199):
            self.assertAlmostEqual(imu[i]["t_s"], t_s[i], places=8)
            np.testing.assert_allclose([imu[i][k] for k in ("ax", "ay", "az", "gx", "gy", "gz")], [*force[i], *rate[i]], rtol=1e-8)
            self.assertAlmostEqual(wheels[i]["v_m_s"], speed[i], places=7)

    def test_the_synced_data_of_kitti_are_too_slow(self):
        self.write_kitti(10, 120)
        self.assertIn("10 samples a second; 50 are needed", self.call("kitti", self.path / "drive", self.out, code=1))

    def test_files_that_do_not_fit_together_are_refused(self):
        self.write_kitti(100, 20)
        (self.path / "drive/oxts/data/0000000003.txt").unlink()
        self.assertIn("19 files in data/ and 20 lines", self.call("kitti", self.path / "drive", self.out, code=1))
        self.assertIn("cannot be read", self.call("comma2k19", self.path / "drive", self.out, code=1))
        self.assertFalse(self.out.exists())

    def write_segments(self):
        """Two segments; forward, right, down; the gyroscope's times lie between the accelerometer's; one stamp goes back."""
        t_s, force, rate, speed = drive(1200, 100)
        down = np.array([1, -1, -1])
        for part, rows in enumerate((slice(0, 600), slice(600, 1200))):
            log = self.path / str(part) / "processed_log"
            for name, stamps, value in (("IMU/accelerometer", t_s[rows] + 1000, force[rows] * down),
                                        ("IMU/gyro", t_s[rows] + 1000.004, rate[rows] * down),
                                        ("CAN/speed", t_s[rows][::2] + 1000, speed[rows][::2, None])):
                (log / name).mkdir(parents=True)
                stamps = stamps.copy()
                if part == 0 and name == "CAN/speed":
                    stamps[7] = stamps[3]
                for file, data in (("t", stamps), ("value", value)):
                    with open(log / name / file, "wb") as to:  # numpy adds an ending to a path
                        np.save(to, data)

    def test_comma2k19(self):
        self.write_segments()
        printed = self.call("comma2k19", self.path / "0", self.path / "1", self.out)
        self.assertIn("--nominal 180,0,0", printed)
        self.assertAlmostEqual(self.calibrate(printed)["seconds"], 12, delta=0.3)
        imu, wheels = self.rows("imu.csv"), self.rows("speed.csv")
        self.assertEqual((len(imu), len(wheels)), (1199, 599))  # the first is before any rate; one stamp went back
        self.assertAlmostEqual(imu[-1]["az"], -G, places=6)
        self.assertAlmostEqual(imu[-1]["gz"], -0.3, places=6)
        self.assertAlmostEqual(imu[499]["ax"], 2.0, places=6)
        self.assertTrue(all(a["t_s"] < b["t_s"] for a, b in zip(wheels, wheels[1:])))


if __name__ == "__main__":
    os.environ.pop("OTOLITH_WORLD", None)
    unittest.main(verbosity=2)
