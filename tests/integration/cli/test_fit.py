"""`otolith fit`: a part from a rest log whose noise is known, used as a part, and what is refused."""
import json
import math
import pathlib
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

    def test_what_was_simulated_is_found_and_the_part_repeats_it(self):
        density, sigma = 2e-3, 1e-3
        log = self.rest_log(f"gyroscope.noise_density_rad_s_rthz={density}", "gyroscope.resolution_rad_s=1e-3",
                            "gyroscope.constant_bias_rad_s=[0.01, 0.02, -0.03]", "gyroscope.gauss_markov_tau_s=[5, 0, 0, 0, 0, 0, 0, 0]",
                            *(f"gyroscope.gauss_markov_{axis}_rad_s=[{sigma}, 0, 0, 0, 0, 0, 0, 0]" for axis in "xyz"),
                            "accelerometer.noise_density_m_s2_rthz=0.01")
        part = self.path / "my_part.yaml"
        report = json.loads(self.otolith("fit", log, "--out", part, "--runs", 4, "--json", "--name", "my/part"))
        self.assertEqual(report["samples"], ROWS)
        self.assertAlmostEqual(report["rate_hz"], RATE, delta=1e-6)
        for axis, mean in zip("xyz", (0.01, 0.02, -0.03)):
            column = report["columns"][f"angular_velocity.{axis}"]
            # N: 1e5 samples to 0.5 %, the digit's twelfth apart, and the process shares the first averaging times
            self.assertAlmostEqual(column["N"] / (density / math.sqrt(2)), 1, delta=0.03)
            self.assertAlmostEqual(column["mean"], mean, delta=5 * sigma * math.sqrt(2 * 5 * RATE / ROWS))
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
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("BIC", "°/√h", "°/h", "simulated deviation", "within", "model N, K"):
            self.assertIn(words, done.stdout)
        self.assertIn("a column of the accelerometer is constant; it is left out", done.stderr)

    def test_columns_and_units_can_be_named(self):
        log = self.path / "log.csv"
        values = [math.sin(i * i * 0.7) for i in range(3000)]
        log.write_text("t_s,gx,gy,gz\n" + "".join(f"{i / 50:.3f},{v:.6f},{-v:.6f},{v * v:.6f}\n" for i, v in enumerate(values)))
        report = json.loads(self.otolith("fit", log, "--out", self.path / "p.yaml", "--runs", 2, "--json", "--gyroscope",
                                         "gx,gy,gz:deg/s"))
        mean = sum(values) / len(values) * math.pi / 180
        self.assertAlmostEqual(report["columns"]["gx"]["mean"], mean, delta=1e-7)
        self.assertIn("--gyroscope X,Y,Z", self.otolith("fit", log, "--out", self.path / "p.yaml", code=1))
        self.assertIn("no column 'gw'", self.otolith("fit", log, "--out", self.path / "p.yaml", "--gyroscope", "gx,gy,gw", code=1))
        self.assertIn("no unit", self.otolith("fit", log, "--out", self.path / "p.yaml", "--gyroscope", "gx,gy,gz:mph", code=1))

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
