"""`otolith fit`: a part from a rest log whose noise is known, used as a part, and what is refused."""
import json
import math
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import OtolithCase  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1))
ROWS, RATE = 100000, 100


class Fit(OtolithCase):
    program = str(BIN / "otolith")
    timeout_s = 300

    def rest_log(self, *sets, rows=ROWS):
        truth, log = self.path / "truth.csv", self.path / "rest.csv"
        truth.write_text("t_s\n" + "".join(f"{(i + 1) / RATE:.2f}\n" for i in range(rows)))
        self.otolith("sense", "--plugin", "mems_imu", "--in", truth, "--out", log, "--rate", RATE,
                     *(word for one in sets for word in ("--set", one)))
        return log

    def fit(self, *words):
        """The output of a fit that may fit its log (0) or not (3); with --json `fits` has the same."""
        done = self.call(*words)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        if "--json" in words:
            report = json.loads(done.stdout)
            self.assertEqual(report["fits"], done.returncode == 0)
            self.assertEqual(report["fits"], all(column["fits"] for column in report["columns"].values()))
        else:
            self.assertEqual("does not fit from" in done.stdout, done.returncode == 3)
        return done.stdout

    def test_what_was_simulated_is_found_and_the_part_repeats_it(self):
        density, sigma = 2e-3, 1e-3
        log = self.rest_log(f"gyroscope.noise_density_rad_s_rthz={density}", "gyroscope.resolution_rad_s=1e-3",
                            "gyroscope.constant_bias_rad_s=[0.01, 0.02, -0.03]", "gyroscope.gauss_markov_tau_s=[5, 0, 0, 0, 0, 0, 0, 0]",
                            *(f"gyroscope.gauss_markov_{axis}_rad_s=[{sigma}, 0, 0, 0, 0, 0, 0, 0]" for axis in "xyz"),
                            "accelerometer.noise_density_m_s2_rthz=0.01")
        part = self.path / "my_part.yaml"
        report = json.loads(self.fit("fit", log, "--out", part, "--runs", 4, "--json", "--name", "my/part"))
        self.assertEqual(report["calibration"], {})
        self.assertEqual(report["samples"], ROWS)
        self.assertAlmostEqual(report["rate_hz"], RATE, delta=1e-6)
        for axis, mean in zip("xyz", (0.01, 0.02, -0.03)):
            column = report["columns"][f"angular_velocity.{axis}"]
            # five of the fit's own standard errors, which four runs give to 40 %, and the model's 2 %
            self.assertAlmostEqual(column["N"] / (density / math.sqrt(2)), 1, delta=0.02 + 5 * column["N_relative_error"])
            self.assertLess(column["N_relative_error"], 0.05)
            self.assertAlmostEqual(column["mean"], mean, delta=5 * column["mean_error"])
            # white noise of density/√2 and a process of 5 s give the mean this error; a slow process that the fit found in one log adds to it
            right = math.hypot(sigma * math.sqrt(2 * 5 * RATE / ROWS), density * math.sqrt(RATE / ROWS / 2))
            self.assertGreater(column["mean_error"], 0.5 * right)
            self.assertLess(column["mean_error"], 5 * right)
            self.assertAlmostEqual(column["resolution"], 1e-3, delta=1e-9)
            slow = math.sqrt(sum(s * s for tau, s, _ in column["gauss_markov"] if tau > 0.5))
            self.assertAlmostEqual(slow / sigma, 1, delta=0.35)
            for tau, measured, simulated in zip(column["tau_s"], column["adev"], column["simulated"]):
                if 0.02 <= tau <= 10:  # the model 3 %, and five standard errors of the deviation of 1000 s
                    self.assertAlmostEqual(simulated / measured, 1, delta=0.03 + 5 * math.sqrt(tau / 2000), msg=f"{axis} {tau} s")
        text = self.otolith("parts", part)
        for words in ("my/part", "gauss_markov", "resolution", "turn_on_bias"):
            self.assertIn(words, text)
        out = self.path / "again.csv"
        self.otolith("sense", "--plugin", "mems_imu", "--part", part, "--unit", 3, "--in", self.path / "truth.csv", "--out", out)
        self.assertEqual(len(out.read_text().splitlines()), ROWS + 1)

    def test_the_report_names_units_model_and_agreement(self):
        log = self.rest_log("gyroscope.noise_density_rad_s_rthz=2e-3", rows=20000)
        done = self.call("fit", log, "--out", self.path / "p.yaml", "--runs", 2)
        self.assertIn(done.returncode, (0, 3), done.stderr)
        for words in ("BIC", "°/√h", "°/h", "simulated deviation", "within", "model N, K"):
            self.assertIn(words, done.stdout)
        self.assertIn("a column of the accelerometer is constant; it is left out", done.stderr)

    def test_columns_and_units_can_be_named(self):
        log = self.path / "log.csv"
        values = [math.sin(i * i * 0.7) for i in range(3000)]
        log.write_text("t_s,gx,gy,gz\n" + "".join(f"{i / 50:.3f},{v:.6f},{-v:.6f},{v * v:.6f}\n" for i, v in enumerate(values)))
        report = json.loads(self.fit("fit", log, "--out", self.path / "p.yaml", "--runs", 2, "--json", "--gyroscope",
                                     "gx,gy,gz:deg/s"))
        mean = sum(values) / len(values) * math.pi / 180
        self.assertAlmostEqual(report["columns"]["gx"]["mean"], mean, delta=1e-7)
        self.assertIn("--gyroscope X,Y,Z", self.otolith("fit", log, "--out", self.path / "p.yaml", code=1))
        self.assertIn("no column 'gw'", self.otolith("fit", log, "--out", self.path / "p.yaml", "--gyroscope", "gx,gy,gw", code=1))
        self.assertIn("no unit", self.otolith("fit", log, "--out", self.path / "p.yaml", "--gyroscope", "gx,gy,gz:mph", code=1))

    MATRIX = ((1.01, 0.002, -0.001), (0.003, 0.98, 0.004), (-0.002, 0.001, 1.005))
    G_MATRIX = ((1e-4, 2e-5, 0.0), (-3e-5, 2e-4, 1e-5), (0.0, 4e-5, -1e-4))
    BIAS = (0.1, -0.2, 0.05)

    def positions(self):
        """Six rests of 200 samples with turns between them; noise that is no multiple of anything."""
        lines, count = ["angular_velocity.x,angular_velocity.y,angular_velocity.z,linear_acceleration.x,linear_acceleration.y,linear_acceleration.z"], 0
        for axis in range(3):
            for sign in (1, -1):
                truth = [0.0, 0.0, 0.0]
                truth[axis] = sign * 9.80665
                for _ in range(200):
                    count += 1
                    noise = [1e-3 * math.sin(count * count * 0.37 + k) for k in range(6)]
                    force = [sum(m * t for m, t in zip(row, truth)) + b + n for row, b, n in zip(self.MATRIX, self.BIAS, noise)]
                    rate = [sum(m * t for m, t in zip(row, truth)) + 0.01 + 1e-2 * n for row, n in zip(self.G_MATRIX, noise[3:])]
                    lines.append(",".join(f"{v:.9g}" for v in rate + force))
                lines += ["0.5,0.2,-0.3,5,5,5"] * 20
        path = self.path / "positions.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    def rate_table(self):
        lines = ["angular_velocity.x,angular_velocity.y,angular_velocity.z,reference_x_rad_s,reference_y_rad_s,reference_z_rad_s"]
        for axis in range(3):
            for k in range(-50, 51):
                truth = [0.0, 0.0, 0.0]
                truth[axis] = 0.02 * k
                lines.append(",".join(f"{v:.9g}" for v in [sum(m * t for m, t in zip(row, truth)) + 0.01 for row in self.MATRIX] + truth))
        path = self.path / "table.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    def temperature(self):
        lines = ["temperature_degc,angular_velocity.x,angular_velocity.y,angular_velocity.z"]
        for k in range(2000):
            degrees = -20 + 80 * k / 2000
            d, noise = degrees - 25, 1e-5 * math.sin(k * k * 0.37)
            lines.append(f"{degrees:.4f},{0.01 + 1e-4 * d + noise:.9g},{2e-6 * d * d + noise:.9g},{0.02 + 1e-5 * d - 3e-8 * d ** 3 + noise:.9g}")
        path = self.path / "temperature.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    def params_of(self, part):
        found = {}
        for line in part.read_text().split("    parameters:\n")[1].splitlines():
            key, values = re.fullmatch(r' +(\S+): {value: (\[.*\]), unit: ".*", is: derived, source: "log calibration records"}', line).groups()
            found[key] = json.loads(values)
        return found

    def near(self, found, expected, delta):
        self.assertEqual(len(found), len(expected))
        for got, value in zip(found, expected):
            self.assertAlmostEqual(got, value, delta=delta)

    def test_positions_rates_and_temperatures_give_the_deterministic_errors(self):
        log, part = self.rest_log("gyroscope.noise_density_rad_s_rthz=2e-3", rows=5000), self.path / "p.yaml"
        words = ("fit", log, "--out", part, "--runs", 2, "--positions", self.positions(), "--rate-table", self.rate_table(),
                 "--temperature", self.temperature())
        text = self.fit(*words)
        found, m, g = self.params_of(part), self.MATRIX, self.G_MATRIX
        cross = [100 * m[i][k] for i in range(3) for k in range(3) if i != k]
        scale = [100 * (m[i][i] - 1) for i in range(3)]
        # noise of 0.7e-3 over 1200 samples: 2e-5 m/s², and a tenth of it over g
        self.near(found["accelerometer.constant_bias_m_s2"], self.BIAS, 2e-4)
        self.near(found["accelerometer.scale_factor_error_percent"], scale, 2e-3)
        results = json.loads(self.fit(*words, "--json"))["calibration"]
        self.assertEqual(set(results), {"accelerometer", "gyroscope", "g_sensitivity", "temperature"})
        self.near(results["accelerometer"]["bias"], self.BIAS, 2e-4)
        self.near(results["accelerometer"]["matrix"][1], m[1], 2e-5)
        self.near(results["gyroscope"]["matrix"][0], m[0], 1e-6)
        self.near(results["temperature"]["gyroscope"]["range_degc"], (-20, 60), 0.1)
        self.assertAlmostEqual(results["temperature"]["gyroscope"]["coefficients"][0][1], 1e-4, delta=1e-6)
        self.near(found["accelerometer.cross_axis_percent"], cross, 2e-3)
        self.near(found["gyroscope.scale_factor_error_percent"], scale, 1e-5)
        self.near(found["gyroscope.cross_axis_percent"], cross, 1e-5)
        self.near(found["gyroscope.acceleration_bias_rad_s_m_s2"], [g[i][i] for i in range(3)], 2e-7)
        self.near(found["gyroscope.acceleration_cross_rad_s_m_s2"], [g[i][k] for i in range(3) for k in range(3) if i != k], 2e-7)
        self.near(found["gyroscope.temperature_bias_rad_s_degc"], (1e-4, 0, 1e-5), 1e-6)
        self.near(found["gyroscope.temperature_bias_quadratic_rad_s_degc2"], (0, 2e-6, 0), 1e-8)
        self.near(found["gyroscope.temperature_bias_cubic_rad_s_degc3"], (0, 0, -3e-8), 1e-9)
        for words in ("g-sensitivity", "scale and cross-axis errors", "±", "°C^3"):
            self.assertIn(words, text)
        # the part has them: a true rate of 1 rad/s about x
        truth, out = self.path / "turn.csv", self.path / "turned.csv"
        truth.write_text("t_s,angular_rate_x_rad_s\n" + "".join(f"{i / 100},1\n" for i in range(1, 2001)))
        self.otolith("sense", "--plugin", "mems_imu", "--part", part, "--in", truth, "--out", out)
        head, *rows = [line.split(",") for line in out.read_text().splitlines()]
        mean = sum(float(row[head.index("angular_velocity.y")]) for row in rows) / len(rows)
        # 2e-3 √(100/2/2000) of noise, and the force of 1 g along z
        self.assertAlmostEqual(mean, m[1][0] + g[1][2] * 9.80665, delta=5 * 3.2e-4)

    def test_calibration_records_that_determine_nothing_are_refused(self):
        log, part, path = self.rest_log("gyroscope.noise_density_rad_s_rthz=2e-3", rows=2000), self.path / "p.yaml", self.path / "c.csv"
        path.write_text("linear_acceleration.x,linear_acceleration.y,linear_acceleration.z\n" + "0,0,9.8\n" * 100)
        self.assertIn("six positions are needed", self.otolith("fit", log, "--out", part, "--positions", path, code=1))
        path.write_text("angular_velocity.x,angular_velocity.y,angular_velocity.z\n0,0,0\n")
        self.assertIn("no column 'reference_x_rad_s'", self.otolith("fit", log, "--out", part, "--rate-table", path, code=1))
        path.write_text("temperature_degc,angular_velocity.x,angular_velocity.y,angular_velocity.z\n" + "25,0,0,0\n26,0,1e-3,0\n" * 9)
        self.assertIn("at least 5 °C", self.otolith("fit", log, "--out", part, "--temperature", path, code=1))
        self.assertFalse(part.exists())

    def test_what_cannot_be_fitted_is_refused_and_writes_nothing(self):
        log, part = self.path / "log.csv", self.path / "p.yaml"
        head = "t_s," + ",".join(f"angular_velocity.{axis}" for axis in "xyz") + "\n"
        log.write_text(head + "0.01,1,2,3\n0.02,1,2,3\n")
        self.assertIn("2 samples are too few", self.otolith("fit", log, "--out", part, code=1))
        log.write_text(head + "".join(f"{i / 100},1,2,3\n" for i in range(2000)))
        self.assertIn("no noise to fit", self.otolith("fit", log, "--out", part, code=1))
        log.write_text(head + "".join(f"{(i + (i > 50)) / 100},{i % 7},{i % 5},{i % 3}\n" for i in range(2000)))
        self.assertIn("a gap", self.otolith("fit", log, "--out", part, code=1))
        self.assertIn("a LOG and --out are needed", self.otolith("fit", log, code=2))
        self.assertFalse(part.exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
