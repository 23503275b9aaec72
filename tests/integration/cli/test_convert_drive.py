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

    def write_dot(self, path, t_us, force, rate_rad_s):
        """A log of Xsens DOT: a packet of zeros, then the samples; more columns than are read, and a comma at the end of a row."""
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = np.column_stack([t_us, force, np.degrees(rate_rad_s)])
        rows = np.vstack([np.concatenate([[t_us[0] - 8333], np.zeros(6)]), rows])
        with open(path, "w") as file:
            file.write("sep=,\nPacketCounter,SampleTimeFine,Euler_X,Euler_Y,Euler_Z,"
                       "Acc_X,Acc_Y,Acc_Z,Gyr_X,Gyr_Y,Gyr_Z,Mag_X,Status,\n")
            for i, row in enumerate(rows):
                file.write(f"{i}, {row[0]:.0f}, 1, 2, 3, " + ", ".join(f"{value:.15g}" for value in row[1:]) + ", 0.5, 0, \n")

    def write_trials(self):
        """Two trials; right, forward, up; the wheel turns about its z."""
        t_s, force, rate, speed = drive(1440, 120)
        t_us = np.round((700 + t_s) * 1e6)
        right = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
        wheel = np.column_stack([0 * speed, 0 * speed, speed / 0.293])
        for part, rows in enumerate((slice(0, 720), slice(720, 1440))):
            self.write_dot(self.path / str(part) / "CAR.csv", t_us[rows], force[rows] @ right.T, rate[rows] @ right.T)
            self.write_dot(self.path / str(part) / "IMU4.csv", t_us[rows], 0 * force[rows], wheel[rows])
        return t_s, force, speed

    def test_wid(self):
        t_s, force, speed = self.write_trials()
        printed = self.call("wid", self.path / "0", self.path / "1", self.out)
        self.assertIn("--nominal 0,0,-90", printed)
        self.assertAlmostEqual(self.calibrate(printed)["seconds"], 12, delta=0.3)
        imu, wheels = self.rows("imu.csv"), self.rows("speed.csv")
        self.assertEqual((len(imu), len(wheels)), (1440, 1440))
        for i in (0, 500, 1439):
            self.assertAlmostEqual(imu[i]["t_s"], t_s[i], delta=2e-6)
            self.assertAlmostEqual(wheels[i]["t_s"], t_s[i], delta=2e-6)
            np.testing.assert_allclose([imu[i][k] for k in ("ax", "ay", "az")], [-force[i, 1], force[i, 0], force[i, 2]], rtol=1e-8)
            self.assertAlmostEqual(wheels[i]["v_m_s"], speed[i], places=7)
        self.assertAlmostEqual(imu[-1]["gz"], 0.3, places=8)

    def test_damaged_rows_of_wid_are_left_out(self):
        self.write_trials()
        path = self.path / "0/CAR.csv"
        lines = path.read_text().splitlines()
        for row, values in ((10, "-inf, 0, 9.8, 0, 0, 0"), (11, "0, 0, nan, 0, 0, 0"), (12, "0, 0, 9.8, 2.1e10, 0, 0")):
            lines[row] = f"7, {700e6 + 8333 * row:.0f}, 1, 2, 3, {values}, 0.5, 0, "
        path.write_text("\n".join(lines) + "\n")
        self.call("wid", self.path / "0", self.out)
        self.assertEqual(len(self.rows("imu.csv")), 717)
        path.write_text("\n".join(lines[:100]) + "\n98, 7008")
        self.assertIn("CAR.csv cannot be read", self.call("wid", self.path / "0", self.out, code=1))
        path.write_text("sep=,\nPacketCounter,SampleTimeFine,Acc_X,\n0, 7, 1, \n")
        self.assertIn("CAR.csv has no column 'Acc_Y'", self.call("wid", self.path / "0", self.out, code=1))
        path.write_text("")
        self.assertIn("fewer than two samples", self.call("wid", self.path / "0", self.out, code=1))
        (self.path / "0/IMU4.csv").unlink()
        self.assertIn("IMU4.csv cannot be read", self.call("wid", self.path / "0", self.out, code=1))

    def test_kth(self):
        t_s, force, rate, speed = drive(1200, 100)
        down = np.array([1, -1, -1])
        path = self.path / "GNSSaidedINS_data.mat"
        path.write_bytes(b"junk")
        try:
            from scipy.io import savemat
        except ImportError:
            self.assertIn("python3-scipy", self.call("kth", self.path, self.out, code=1))
            return
        self.assertIn("cannot be read", self.call("kth", self.path, self.out, code=1))
        savemat(path, {"in_data": {"GNSS": {"t": t_s[::100]}, "SPEEDOMETER": {"t": t_s[::25, None], "speed": speed[None, ::25]},
                                   "IMU": {"t": t_s[:, None], "acc": (force * down).T, "gyro": (rate * down).T}}})
        printed = self.call("kth", self.path, self.out)
        self.assertIn("--nominal 180,0,0", printed)
        self.assertAlmostEqual(self.calibrate(printed)["seconds"], 12, delta=0.3)
        imu, wheels = self.rows("imu.csv"), self.rows("speed.csv")
        self.assertEqual((len(imu), len(wheels)), (1200, 48))
        self.assertAlmostEqual(imu[-1]["az"], -G, places=6)
        self.assertAlmostEqual(imu[-1]["gz"], -0.3, places=6)
        self.assertAlmostEqual(wheels[-1]["v_m_s"], speed[1175], places=7)


if __name__ == "__main__":
    os.environ.pop("OTOLITH_WORLD", None)
    unittest.main(verbosity=2)
