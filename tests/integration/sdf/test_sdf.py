"""`otolith sdf` as a new user types it, and the sensor in a world that runs: rows C2, C11 to C14, C22 to C24."""
import csv
import os
import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
OTOLITH = str(BIN / "otolith")
WORLD = SOURCE / "configs/worlds/unity_imu.yaml"


class Case(OtolithCase):
    program = OTOLITH

    def record(self, world, topic, *options):
        path = self.path / "samples.csv"
        self.otolith("run", world, "--quiet", "--mode", "asap", "--for", "10s", "--csv", f"{topic}={path}", *options)
        with open(path, newline="") as file:
            return list(csv.DictReader(file))

    def test_C22_the_example_of_the_manual_becomes_a_world_that_runs(self):
        world = self.path / "world.yaml"
        self.otolith("sdf", "import", SOURCE / "configs/sensors/unity_imu.xml", "--out", world)
        self.otolith("check", world)
        rows = self.record(world, "/unity/imu")
        self.assertEqual(len(rows), 1000)
        self.assertEqual([int(row["t_ns"]) for row in rows], [10_000_000 * n for n in range(1, 1001)])
        self.assertAlmostEqual(float(rows[-1]["linear_acceleration.z"]), 9.8, delta=0.1)

    def test_C22_the_full_example_runs_without_a_warning(self):
        world = self.path / "world.yaml"
        self.otolith("sdf", "import", SOURCE / "configs/sensors/unity_imu.sdf", "--out", world)
        self.assertNotIn("warning", self.otolith("check", world))
        rows = self.record(world, "/unity/imu")
        self.assertGreater(len(rows), 490)
        self.assertEqual(float(rows[0]["orientation_covariance.8"]), 0.04)

    def test_C23_export_of_an_import_is_the_file_again(self):
        self.otolith("sdf", "export", WORLD, "--out", self.path / "a.sdf")
        self.otolith("sdf", "import", self.path / "a.sdf", "--out", self.path / "world.yaml")
        self.otolith("sdf", "export", self.path / "world.yaml", "--out", self.path / "b.sdf")
        self.assertEqual((self.path / "a.sdf").read_text(), (self.path / "b.sdf").read_text())
        self.otolith("check", self.path / "world.yaml")
        self.assertEqual(sorted(p.name for p in self.path.iterdir() if p.is_file()), ["a.sdf", "b.sdf", "world.yaml"])

    def test_C12_rates_keep_their_mean_and_zero_is_each_tick(self):
        world = self.path / "world.yaml"
        for rate, samples in (("7", 70), ("300", 3000), ("0", 10000)):
            sensor = self.path / "sensor.xml"
            sensor.write_text(f'<sensor name="s" type="imu"><update_rate>{rate}</update_rate></sensor>')
            self.otolith("sdf", "import", sensor, "--out", world)
            rows = self.record(world, "sdf/car/s")
            self.assertEqual(len(rows), samples)
            self.assertEqual(int(rows[-1]["t_ns"]), 10_000_000_000)

    def test_C13_pairs_above_the_rate_of_physics(self):
        rows = self.record(WORLD, "/unity/imu")
        self.assertEqual(len(rows), 1000)
        stamps = [int(row["t_ns"]) for row in rows]
        self.assertEqual(stamps, [20_000_000 * (n // 2) for n in range(1, 1001)])
        data = [tuple(value for key, value in row.items() if key != "seq") for row in rows]
        self.assertEqual(data[1:999:2], data[2:1000:2])

    def test_C14_discarded_samples_leave_no_gap(self):
        rows = self.record(WORLD, "/unity/imu", "--set",
                           "vehicles.car.nodes.imu_sensor.params.discard_redundant_data=true")
        self.assertEqual([int(row["t_ns"]) for row in rows], [20_000_000 * n for n in range(0, 501)])
        self.assertEqual([int(row["seq"]) for row in rows], list(range(1, 502)))

    def test_C2_seq_counts_and_stamps_are_those_of_ticks(self):
        rows = self.record(WORLD, "/unity/noisy")
        self.assertEqual([int(row["seq"]) for row in rows], list(range(1, len(rows) + 1)))
        self.assertTrue(all(int(row["t_ns"]) % 20_000_000 == 0 for row in rows))
        self.assertTrue(240 < len(rows) <= 250)

    def test_C11_topics_are_unique_in_a_world_too(self):
        text = WORLD.read_text().replace("/unity/noisy", "/unity/imu")
        (self.path / "twice.yaml").write_text(text)
        self.assertIn("/unity/imu", self.otolith("check", self.path / "twice.yaml", code=1))

    def test_C23_C24_a_running_node_is_exported_as_it_is_now(self):
        self.server = subprocess.Popen([OTOLITH, "run", str(WORLD)], env=self.environment, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE_S
        while subprocess.run([OTOLITH, "echo", "/unity/noisy", "-n", "1"], env=self.environment, capture_output=True,
                             timeout=PATIENCE_S).returncode != 0:
            self.assertLess(time.monotonic(), deadline, "the world did not come up")
        self.otolith("set", "unity/car/noisy", "linear_acceleration.stddev_m_s2", "[0.5, 0.25, 0.125]")
        exported = self.otolith("sdf", "export", "/unity/noisy")
        for words in ('<world name="unity">', '<model name="car">', '<sensor name="noisy" type="imu">',
                      "<update_rate>25</update_rate>", "<topic>/unity/noisy</topic>", "<stddev>0.25</stddev>",
                      "<localization>ENU</localization>", '<noise type="gaussian_quantized">'):
            self.assertIn(words, exported)
        self.assertIn("motion_script", self.otolith("sdf", "export", "unity/car/motion", code=1))

    def test_nothing_is_written_where_something_is_wrong(self):
        bad = self.path / "bad.xml"
        bad.write_text('<sensor name="s" type="imu">\n<update_rate>fast</update_rate></sensor>')
        self.assertIn("bad.xml:2:1: error: expected a finite number",
                      self.otolith("sdf", "import", bad, "--out", self.path / "out.yaml", code=1))
        self.assertFalse((self.path / "out.yaml").exists())
        os.mkfifo(self.path / "fifo.xml")
        self.assertIn("it is not a regular file", self.otolith("sdf", "import", self.path / "fifo.xml", code=1))
        self.assertIn("nowhere.xml", self.otolith("sdf", "import", self.path / "nowhere.xml", code=1))
        self.assertIn("nowhere.yaml", self.otolith("sdf", "export", self.path / "nowhere.yaml", code=1))
        self.assertIn("no vehicle has a node of plugin sdf_imu",
                      self.otolith("sdf", "export", SOURCE / "configs/worlds/minimal.yaml", code=1))
        self.otolith("sdf", "translate", bad, code=2)
        self.otolith("sdf", "import", code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
