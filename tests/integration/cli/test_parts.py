"""The part library as a new user types it: list, show, import, export, sense, worlds."""
import json
import math
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
DEG = math.pi / 180


class Parts(OtolithCase):
    program = str(BIN / "otolith")

    def setUp(self):
        super().setUp()
        self.environment["OTOLITH_PARTS_PATH"] = str(SOURCE / "configs/parts")

    def rest(self, rows, rate):
        path = self.path / "rest.csv"
        path.write_text("t_s\n" + "".join(f"{i / rate:.6f}\n" for i in range(rows)))
        return path

    def sense(self, truth, *options):
        out = self.path / "out.csv"
        self.otolith("sense", "--plugin", "mems_imu", "--in", truth, "--out", out, *options)
        return out

    def test_the_library_lists_its_parts(self):
        parts = json.loads(self.otolith("parts", "--json"))
        kinds = [part["kind"] for part in parts]
        self.assertGreaterEqual(len(parts), 15)
        self.assertGreaterEqual(kinds.count("imu"), 12)
        self.assertGreaterEqual(kinds.count("magnetometer"), 3)
        text = self.otolith("parts")
        readme = (SOURCE / "configs/parts/README.md").read_text()
        for part in parts:
            self.assertIn(part["part"], text)
            self.assertIn(f"`{part['part']}`", readme)
            for mode in part["modes"]:
                self.assertIn(f"`{mode}`", readme)
            for triad in ("accelerometer", "gyroscope", "magnetometer"):
                for number in part.get(triad, {}).get("numbers", {}).values():
                    self.assertIn(number["source"].split()[0], part["documents"])

    def test_a_part_is_shown_in_every_convention(self):
        part = json.loads(self.otolith("parts", "tdk/icm-42688-p", "--mode", "500dps-4g", "--json"))
        noise = part["gyroscope"]["noise"]
        self.assertAlmostEqual(noise["density_single_deg_s_rthz"][0], 0.0028, delta=1e-15)
        self.assertAlmostEqual(noise["density_double_rad_s_rthz"][0], 0.0028 * DEG / math.sqrt(2), delta=1e-18)
        self.assertAlmostEqual(noise["angle_random_walk_deg_rth"][0], 0.0028 * 60 / math.sqrt(2), delta=1e-14)
        self.assertIsNone(noise["b_deg_h"])
        self.assertIsNone(part["gyroscope"]["known_s"])
        self.assertEqual(part["gyroscope"]["default"]["term"], "bias_instability")
        self.assertEqual(part["gyroscope"]["default"]["meet_s"], 10)
        self.assertIn("2.254 °/h default   [no document: the white noise meets it at 10 s; flat to 100000 s]",
                      self.otolith("parts", "tdk/icm-42688-p"))
        stim = json.loads(self.otolith("parts", "sensonor/stim300", "--json"))
        self.assertEqual(stim["gyroscope"]["known_s"], 6480)
        self.assertIsNone(stim["gyroscope"]["default"])
        self.assertIn("shown from 1 s to 6480 s; continued flat to 100000 s", self.otolith("parts", "sensonor/stim300"))
        self.assertIn("no citable source for", self.otolith("parts", "tdk/icm-42688-p"))

    def test_rest_of_a_part_has_its_density(self):
        rows, rate = 120000, 200
        out = self.sense(self.rest(rows, rate), "--part", "sensonor/stim300", "--seed", 7)
        column = json.loads(self.otolith("allan", out, "--column", "angular_velocity.x", "--json"))
        column = column["columns"]["angular_velocity.x"]
        n = 0.15 / 60 * DEG
        # The variance of the Allan variance of white noise at one sample is 3/rows of its square; four deviations.
        self.assertAlmostEqual(column["adev"][0] / (n * math.sqrt(rate)), 1, delta=4 * math.sqrt(3 / rows) / 2)

    def test_a_unit_keeps_its_offsets_whatever_the_seed(self):
        truth = self.rest(4000, 100)

        def mean(*options):
            rows = self.sense(truth, "--part", "tdk/mpu-6050", "--rate", 100, *options).read_text().splitlines()
            column = rows[0].split(",").index("angular_velocity.x")
            return sum(float(row.split(",")[column]) for row in rows[1:]) / (len(rows) - 1)

        first, again, other = mean("--unit", 17, "--seed", 1), mean("--unit", 17, "--seed", 2), mean("--unit", 18)
        # One sigma of the offset is 20 deg/s; the noise of a mean is density sqrt(fs/2 / rows), a digit 1/16.4 deg/s.
        noise = 0.005 * DEG * math.sqrt(100 / 2 / 4000) + DEG / 16.4
        self.assertAlmostEqual(first, again, delta=6 * noise)
        self.assertGreater(abs(first - other), 20 * noise)

    def test_an_imported_part_works_in_a_world(self):
        part = self.otolith("parts", "import", SOURCE / "configs/sensors/mavs_imu.json", "--name", "my/mavs")
        (self.path / "mavs.yaml").write_text(part)
        world = self.path / "world.yaml"
        world.write_text("world: parts\nvehicles:\n  - name: car\n    motion: {plugin: motion_script}\n    nodes:\n"
                         "      - {name: imu, plugin: mems_imu, rate_hz: 100, part: mavs.yaml, unit: 3}\n")
        done = subprocess.run([BIN / "otolith", "check", world], env=self.environment, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("temperature_bias_rad_s_degc = 0.349", done.stderr)  # 20 deg/s for each degree

    def test_check_says_what_is_odd_where_and_why(self):
        world = self.path / "odd.yaml"
        world.write_text("""world: odd
origin: {latitude_deg: 48.137, longitude_deg: 11.575, altitude_m: 520, date: 2026-07-01}
environment: {magnetic_field: [21.0, 1.5, 43.6]}
vehicles:
  - name: car
    motion: {plugin: motion_stationary}
    nodes:
      - name: imu
        plugin: mems_imu
        params: {gyroscope: {temperature_bias_rad_s_degc: 0.349, noise_density_rad_s_rthz: 0.0048}}
      - name: mag
        plugin: magnetometer
        params: {magnetic_field_enu_ut: [27.5550, -2.4169, -16.0849]}
""")
        done = subprocess.run([BIN / "otolith", "check", world], env=self.environment, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stderr.splitlines()
        self.assertEqual(len(said), 4, done.stderr)
        for line, (place, words) in zip(said, [
                ("odd.yaml:3:31: warning: ", "is probably in NED axes, but it is read as ENU"),
                ("odd.yaml:10:17: warning: node 'imu': ", "is 18 times that of the noisiest part in the library"),
                ("odd.yaml:8:9: warning: node 'car/imu': ", "is 20 °/s per °C, more than ten times what MEMS parts have"),
                ("odd.yaml:11:9: warning: node 'car/mag': ", "in ENU axes would be [-2.4169, 27.555, 16.0849]")]):
            self.assertIn(place, line)
            self.assertIn(words, line)
        world.write_text(world.read_text().replace("[21.0, 1.5, 43.6]", "[1.5, 21.0, -43.6]"))
        done = subprocess.run([BIN / "otolith", "check", world], env=self.environment, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertNotIn("odd.yaml:3:", done.stderr)  # the same field in the right axes

    WALKING = '''part: my/walking
title: a part with every term of noise
vendor: mine
kind: imu
documents: {log: {title: a log}}
missing: [accelerometer.in_run_bias_stability, accelerometer.range, accelerometer.known_s, gyroscope.known_s]
modes:
  one:
    output_rate: {value: 200, unit: Hz, is: typ, source: log stamps}
    gyroscope:
      range: {value: 5, unit: rad/s, is: typ, source: log x}
      noise_density: {value: [1e-3, 2e-3, 3e-3], unit: rad/s/√Hz, is: typ, source: log x}
      bias_instability: {value: 1e-4, unit: rad/s, is: typ, source: log x}
      rate_random_walk: {value: [1e-6, 2e-6, 4e-6], unit: rad/s/√s, is: typ, source: log x}
    accelerometer:
      noise_density: {value: 0.01, unit: m/s²/√Hz, is: typ, source: log x}
      rate_random_walk: {value: 2e-5, unit: m/s²/√s, is: typ, source: log x}
'''

    def exchange(self, form):
        path, sent, back = self.path / "walking.yaml", self.path / f"sent.{form}", self.path / "back.yaml"
        path.write_text(self.WALKING)
        sent.write_text(self.otolith("parts", "export", path, "--format", form))
        back.write_text(self.otolith("parts", "import", sent, "--name", "my/back"))
        return sent.read_text(), json.loads(self.otolith("parts", back, "--json"))

    def test_matlab_and_mavs_files_carry_the_walk_over_the_root_of_two_and_come_back(self):
        for form, section, key in (("matlab", lambda file: file["my/walking"], "RandomWalk"), ("mavs", lambda file: file, "Random Walk")):
            text, back = self.exchange(form)
            walk = section(json.loads(text))["Gyroscope"][key]
            for sent, k in zip(walk, (1e-6, 2e-6, 4e-6)):
                self.assertAlmostEqual(sent * math.sqrt(2) / k, 1, delta=1e-12)
            noise = back["gyroscope"]["noise"]
            for got, k in zip(noise["k_rad_s2_rthz"], (1e-6, 2e-6, 4e-6)):
                self.assertAlmostEqual(got / k, 1, delta=1e-12)
            for got, density in zip(noise["density_single_rad_s_rthz"], (1e-3, 2e-3, 3e-3)):
                self.assertAlmostEqual(got / density, 1, delta=1e-12)
            self.assertAlmostEqual(noise["b_rad_s"][0], 1e-4, delta=1e-16)
            self.assertAlmostEqual(back["accelerometer"]["noise"]["k_m_s3_rthz"][0], 2e-5, delta=1e-17)

    def test_an_imported_model_without_a_floor_stays_without_one(self):
        path, back = self.path / "model.json", self.path / "back.yaml"
        path.write_text('{"Gyroscope": {"NoiseDensity": [0.001, 0.001, 0.001]}, "Accelerometer": {"NoiseDensity": 0.01}}')
        back.write_text(self.otolith("parts", "import", path))
        part = json.loads(self.otolith("parts", back, "--json"))
        self.assertEqual(part["gyroscope"]["noise"]["b_rad_s"], [0, 0, 0])
        self.assertIsNone(part["gyroscope"]["default"])

    def test_rms_noise_is_exported_for_the_rate(self):
        sdf = self.otolith("parts", "export", "st/lis3mdl", "--format", "sdf", "--rate", 20)
        self.assertIn("<stddev>3.2e-07</stddev>", sdf)  # 3.2 mgauss at every rate
        self.assertIn("<stddev>4.1e-07</stddev>", sdf)
        for rate in (50, 200):
            text = self.otolith("parts", "export", "st/lsm6dso", "--format", "kalibr", "--rate", rate)
            density = float(text.split("accelerometer_noise_density: ")[1].split()[0])
            self.assertAlmostEqual(density * math.sqrt(rate) / (1.8e-3 * 9.80665), 1, delta=1e-6)

    def test_kalibr_files_come_back_with_the_noise_of_the_worst_axis(self):
        _, back = self.exchange("kalibr")
        noise = back["gyroscope"]["noise"]
        self.assertAlmostEqual(noise["density_single_rad_s_rthz"][0], 3e-3, delta=1e-11)
        self.assertAlmostEqual(noise["k_rad_s2_rthz"][1], 4e-6, delta=1e-14)
        self.assertEqual(back["output_rate_hz"], 200)

    def test_the_file_of_allan_variance_ros_is_a_part(self):
        path, back = self.path / "imu.yaml", self.path / "back.yaml"
        path.write_text("#Accelerometer\naccelerometer_noise_density: 0.0014 \naccelerometer_random_walk: 8.0e-05 \n\n#Gyroscope\n"
                        "gyroscope_noise_density: 0.00016 \ngyroscope_random_walk: 9.0e-06 \n\n"
                        "rostopic: '/sensors/imu' #Make sure this is correct\nupdate_rate: 400.0 #Make sure this is correct\n")
        back.write_text(self.otolith("parts", "import", path))
        part = json.loads(self.otolith("parts", back, "--json"))
        self.assertAlmostEqual(part["accelerometer"]["noise"]["density_double_m_s2_rthz"][2], 0.0014, delta=1e-15)
        self.assertAlmostEqual(part["gyroscope"]["noise"]["k_rad_s2_rthz"][0], 9e-6, delta=1e-17)
        self.assertEqual(part["output_rate_hz"], 400)

    def test_the_example_of_the_readme_is_a_part(self):
        readme = (SOURCE / "configs/parts/README.md").read_text()
        path = self.path / "example.yaml"
        path.write_text(readme.split("```yaml\n")[1].split("```")[0])
        numbers = json.loads(self.otolith("parts", path, "--json"))["magnetometer"]["numbers"]
        self.assertEqual(numbers["range"]["si"], [1300, 1300, 2500])
        self.assertAlmostEqual(numbers["zero_offset"]["si"][0], 2000 * 100 / 6842, delta=1e-12)
        self.otolith("parts", path, "--mode", "slow")

    def test_mistakes_are_answered_with_what_would_be_right(self):
        self.assertIn("did you mean 'tdk/mpu-9250'", self.otolith("parts", "tdk/mpu9250", code=1))
        self.assertIn("it has 250dps-2g", self.otolith("parts", "tdk/mpu-9250", "--mode", "x", code=1))
        self.assertIn("--format", self.otolith("parts", "export", "tdk/mpu-9250", code=2))
        self.assertIn("--rate HZ", self.otolith("parts", "export", "adi/adis16470", "--format", "sdf", code=1))
        self.assertIn("FILE", self.otolith("parts", "import", code=2))
        self.assertIn("give --part too", self.otolith("sense", "--plugin", "mems_imu", "--mode", "x", "--in", "a",
                                                      "--out", "b", code=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
