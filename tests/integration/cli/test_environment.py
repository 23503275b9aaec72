"""otolith environment: numbers of a place and date, and what bad input gets."""
import json
import pathlib
import subprocess
import sys
import unittest

OTOLITH = str(pathlib.Path(sys.argv.pop(1)) / "otolith")
MUNICH = {"--latitude": "48.137", "--longitude": "11.575", "--altitude": "520", "--date": "2026-07-01"}


class Environment(unittest.TestCase):
    def run_it(self, *more, code=0, **changed):
        options = dict(MUNICH, **{f"--{name}": value for name, value in changed.items()})
        words = [word for pair in options.items() if pair[1] is not None for word in pair]
        done = subprocess.run([OTOLITH, "environment", *words, *more], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def json(self, *more, **changed):
        return json.loads(self.run_it("--json", *more, **changed))

    def test_json_has_the_place_and_all_that_is_there(self):
        there = self.json()
        self.assertEqual([there[k] for k in ("latitude_deg", "longitude_deg", "altitude_m", "date")],
                         [48.137, 11.575, 520, "2026-07-01"])
        self.assertAlmostEqual(there["gravity_m_s2"], 9.807427963, places=8)
        self.assertEqual(there["gravity_enu_m_s2"], [0, 0, -there["gravity_m_s2"]])
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
        self.assertIn("not given above 100000 m", self.run_it(altitude="400000"))

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


if __name__ == "__main__":
    unittest.main()
