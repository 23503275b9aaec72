"""otolith environment: numbers of a place and date, and what bad input gets."""
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

OTOLITH = str(pathlib.Path(sys.argv.pop(1)) / "otolith")
MUNICH = {"--latitude": "48.137", "--longitude": "11.575", "--altitude": "520", "--date": "2026-07-01"}


class Environment(unittest.TestCase):
    def run_it(self, *more, code=0, **changed):
        options = dict(MUNICH, **{f"--{name}": value for name, value in changed.items()})
        words = [word for pair in options.items() if pair[1] is not None for word in pair]
        done = subprocess.run([OTOLITH, "environment", *words, *more], capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def json(self, *more, **changed):
        return json.loads(self.run_it("--json", *more, **changed))

    def test_json_has_the_place_and_all_that_is_there(self):
        there = self.json()
        self.assertEqual([there[k] for k in ("latitude_deg", "longitude_deg", "altitude_m", "date")],
                         [48.137, 11.575, 520, "2026-07-01"])
        self.assertAlmostEqual(there["gravity_m_s2"], 9.807427963, places=8)
        east, north, up = there["gravity_enu_m_s2"]
        self.assertEqual((east, up), (0, -there["gravity_m_s2"]))
        self.assertLess(abs(north + 8.08e-9 * 520 * math.sin(2 * math.radians(48.137))), 2e-9 * 520)  # Groves (2013), 2.140
        field = there["magnetic_field"]
        self.assertEqual(field["model"], "wmm2025")
        self.assertAlmostEqual(field["x_nt"], 21016.1, places=1)
        self.assertAlmostEqual(field["declination_deg"], 4.3265, places=4)
        east, north, up = there["magnetic_field_enu_ut"]
        for ut, nt in ((east, field["y_nt"]), (north, field["x_nt"]), (up, -field["z_nt"])):
            self.assertAlmostEqual(ut, nt / 1000, places=9)
        self.assertAlmostEqual(there["pressure_pa"], 95232.6, places=1)
        self.assertAlmostEqual(there["temperature_degc"], 11.6203, places=4)
        self.assertEqual(there["earth_rate_enu_rad_s"][0], 0)

    def test_a_row_of_each_official_table_comes_out(self):
        row = self.json(latitude="80", longitude="-96", altitude="48000", date="2025-01-01")["magnetic_field"]
        self.assertAlmostEqual(row["y_nt"], -1079.269389, delta=5e-7)
        self.assertAlmostEqual(row["f_nt"], 55665.134163, delta=1e-4)
        row = self.json("--model", "wmm2020", latitude="0", longitude="21", altitude="18000", date="2020-01-01")
        self.assertEqual([round(row["magnetic_field"][k], 1) for k in ("x_nt", "y_nt", "z_nt")], [29311.2, 536.0, -14589.0])

    def test_the_model_follows_the_date(self):
        self.assertEqual(self.json(date="2024-12-31")["magnetic_field"]["model"], "wmm2020")
        self.assertEqual(self.json(date="2025-01-01")["magnetic_field"]["model"], "wmm2025")
        self.assertEqual(self.json("--model", "wmm2020", date="2025-01-01")["magnetic_field"]["model"], "wmm2020")

    def test_a_pole_is_an_ordinary_place(self):
        field = [self.json(latitude="90", longitude=l)["magnetic_field"] for l in ("0", "90")]
        self.assertAlmostEqual(field[0]["h_nt"], field[1]["h_nt"], places=6)
        # north of longitude 0 and east of longitude 90 are the same way there
        self.assertAlmostEqual(field[0]["x_nt"], field[1]["y_nt"], places=6)

    def test_what_no_model_covers_is_null(self):
        there = self.json(altitude="400000")
        self.assertIsNone(there["pressure_pa"])
        self.assertIsNone(there["temperature_degc"])
        self.assertIsNone(there["gravity_m_s2"])
        self.assertIn("no model above 100000 m", self.run_it(altitude="400000"))

    def test_text_names_the_elements(self):
        text = self.run_it()
        for word in ("gravity", "9.8074280", "X (north)", "Z (down)", "D (declination)", "wmm2025", "pressure", "earth rate"):
            self.assertIn(word, text)

    def test_bad_values_name_the_option_and_what_is_accepted(self):
        for changed, words in (
                ({"latitude": "90.1"}, ["--latitude", "'90.1'", "-90 to 90 deg"]),
                ({"latitude": "north"}, ["--latitude", "'north' is not a number", "-90 to 90"]),
                ({"longitude": "-181"}, ["--longitude", "-180 to 180 deg"]),
                ({"longitude": "nan"}, ["--longitude", "not a number"]),
                ({"altitude": "850001"}, ["--altitude", "-1000 to 850000 m"]),
                ({"altitude": "5km"}, ["--altitude", "'5km' is not a number"]),
                ({"date": "2026-02-30"}, ["--date", "2026-02-30", "01 to 28"]),
                ({"date": "1.7.2026"}, ["--date", "YYYY-MM-DD"]),
                ({"date": None}, ["--date is missing"]),
                ({"latitude": None}, ["--latitude is missing"])):
            message = self.run_it(code=2, **changed)
            for word in words:
                self.assertIn(word, message)

    def test_outside_a_models_years_the_accepted_ones_are_named(self):
        self.assertIn("2020.0 to 2030.0", self.run_it(code=1, date="2030-06-01"))
        self.assertIn("2020.0 to 2030.0", self.run_it(code=1, date="2019-12-31"))
        message = self.run_it("--model", "wmm2020", code=1)
        self.assertIn("wmm2020 is not valid in 2026", message)
        self.assertIn("2020.0 to 2025.0", message)
        self.assertIn("wmm2020 or wmm2025", self.run_it("--model", "igrf", code=1))


WORLD = """world: felt
origin: {{latitude_deg: 48.137, longitude_deg: 11.575, altitude_m: 520, date: 2026-07-01}}
clock: {{rate_hz: 1000, mode: asap, until_s: 2}}
environment: {{{environment}}}
vehicles:
  - name: car
    motion: {{plugin: motion_stationary}}
    vibration: [{vibration}]
    nodes:
      - {{name: imu, plugin: mems_imu, rate_hz: 300, params: {{{params}}}}}
"""


class Felt(unittest.TestCase):
    """What a world's environment gives an ideal part that is at rest, through the whole server."""

    def samples(self, environment="", vibration="", params=""):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "w.yaml").write_text(WORLD.format(environment=environment, vibration=vibration, params=params))
            done = subprocess.run([OTOLITH, "run", path / "w.yaml", "-q", "-P", f"--csv=car/imu={path}/imu.csv"],
                                  env=dict(os.environ, XDG_RUNTIME_DIR=folder), capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path / "imu.csv", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), 600)
        return rows

    def test_the_earth_turns_only_where_the_world_says_so(self):
        for given, rate in (("earth_rate: true", 7.292115e-5), ("", 0)):
            row = self.samples(environment=given)[-1]
            for axis, wanted in (("x", 0), ("y", rate * math.cos(math.radians(48.137))), ("z", rate * math.sin(math.radians(48.137)))):
                self.assertAlmostEqual(float(row["angular_velocity." + axis]), wanted, delta=1e-18)
            self.assertAlmostEqual(float(row["linear_acceleration.z"]), 9.807427963, delta=1e-8)

    def test_a_transport_delay_reaches_back_to_the_vibration_of_its_instant(self):
        """300 Hz on 1000 Hz: samples and what they look back to lie between ticks."""
        sine = "sine: {frequency_hz: 40, accel_body_m_s2: [3, 0, 0]}"
        for delay in (0, 0.0123):
            for n, row in enumerate(self.samples(vibration="{%s}" % sine, params=f"transport_delay_s: {delay}"), 1):
                t = max(n / 300 - delay, 0)
                self.assertAlmostEqual(float(row["linear_acceleration.x"]), 3 * math.sin(2 * math.pi * 40 * t), delta=2e-6)
                # 1 ns that the delay is rounded to is 7.5e-7 m/s^2

    def test_a_boxcar_takes_its_share_of_a_vibration(self):
        """m inputs over W keep sin(pi f W) / (m sin(pi f W / m)) of a sine (plugins/common/README.md)."""
        rows = self.samples(vibration="{sine: {frequency_hz: 90, accel_body_m_s2: [0, 1, 0]}}", params="boxcar_s: 0.005")
        largest = max(abs(float(row["linear_acceleration.y"])) for row in rows[100:])
        kept = math.sin(math.pi * 90 * 0.005) / (8 * math.sin(math.pi * 90 * 0.005 / 8))
        self.assertAlmostEqual(largest, abs(kept), delta=0.02)  # 300 Hz meets 10 phases of 90 Hz: cos(9 deg) at worst

    def test_a_profile_of_temperature_warms_the_part(self):
        rows = self.samples(environment="temperature_degc: [[0, 25], [1, 45]]",
                            params="accelerometer: {temperature_bias_m_s2_degc: [0.001, 0, 0]}")
        for n, row in enumerate(rows, 1):
            self.assertAlmostEqual(float(row["linear_acceleration.x"]), 0.001 * 20 * min(n / 300, 1), delta=1e-10)


if __name__ == "__main__":
    unittest.main()
