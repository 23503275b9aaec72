"""Noise as a user meets it: rest through `sense` and `allan`, and sensors beside each other in a world."""
import json
import math
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import OtolithCase  # noqa: E402

BIN, PLUGINS, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
OTOLITH = str(BIN / "otolith")
SANITIZED = sys.argv.pop(1) == "sanitized"

WORLD = """
world: resttest
seed: 20261121
clock: {{rate_hz: 1000, mode: asap}}
vehicles:
  - name: car
    motion: {{plugin: motion_script}}
    nodes:
{nodes}
publish: {{listen: ["ipc"]}}
"""
A = """      - name: a
        plugin: mems_imu
        rate_hz: 200
        params: {accelerometer: {noise_density_m_s2_rthz: 0.002, bias_instability_m_s2: 0.001},
                 gyroscope: {noise_density_rad_s_rthz: 0.0001, random_walk_rad_s_rthz: 0.00001}}
"""


def b(rate_hz):
    return A.replace("name: a", "name: b").replace("rate_hz: 200", f"rate_hz: {rate_hz}")


MAG = "      - {name: mag, plugin: magnetometer, rate_hz: 50, params: {magnetometer: {noise_density_ut_rthz: 0.05}}}\n"


class Rest(OtolithCase):
    program = OTOLITH
    timeout_s = 300

    def test_rest_through_sense_and_allan_gives_back_n_b_and_k(self):
        """The two commands of clients/cli/README.md, on the three axes of the gyroscope."""
        hours = 0.1 if SANITIZED else 3
        n, floor, walk = 0.008 * math.pi / 180 / math.sqrt(2), 8 / 3600 * math.pi / 180, 3e-6
        rest, samples, plot = (self.path / name for name in ("rest.csv", "samples.csv", "rest.svg"))
        rest.write_text("t_s\n" + "\n".join(f"{k / 100:.2f}" for k in range(1, int(hours * 360000) + 1)) + "\n")
        self.otolith("sense", "--plugin", "mems_imu", "--part", "adi/adis16470", "--set",
                     f"gyroscope.random_walk_rad_s_rthz={walk}", "--in", rest, "--out", samples)
        said = json.loads(self.otolith("allan", samples, "--column", "angular_velocity.x", "--column",
                                       "angular_velocity.y", "--column", "angular_velocity.z", "--tau-min", 1,
                                       "--tau-max", 1000, "--terms", "NBK", "--json", "--plot", plot))
        self.assertEqual(len(said["columns"]), 3)
        if SANITIZED:
            return
        # Nine checks with 99 % together: Sidak, two-sided level 1 - 0.99^(1/9) = 1.12e-3 a check, 3.26 standard errors.
        # The floor is flat to 1 % (B alone); K from three hours is skewed, so that its square is compared.
        for name, column in said["columns"].items():
            for key, truth, flat in (("N", n, 0), ("B", floor / math.sqrt(2 * math.log(2) / math.pi), 0.01), ("K", walk, 0)):
                found, error = column[key], column[key + "_se"]
                self.assertIsNotNone(error, f"{key} of {name} is {found}")
                self.assertLessEqual(abs(found**2 - truth**2), 3.26 * 2 * found * error + 2 * flat * truth**2,
                                     f"{key} of {name}: {found} +- {error}, expected {truth}")
        self.assertTrue(plot.read_text().rstrip().endswith("</svg>"))

    def noise_of_a(self, *nodes):
        world, out = self.path / "world.yaml", self.path / "a.csv"
        world.write_text(WORLD.format(nodes="".join(nodes).rstrip("\n")))
        self.otolith("run", world, "--quiet", "--for", "5s", "--csv", f"car/a={out}")
        return out.read_bytes()

    def test_noise_of_a_sensor_is_the_same_bits_whatever_stands_beside_it(self):
        alone = self.noise_of_a(A)
        self.assertEqual(alone.count(b"\n"), 1001)
        for beside in ((A, b(200)), (b(200), A), (b(500), A), (MAG, A), (b(125), MAG, A)):
            self.assertEqual(self.noise_of_a(*beside), alone, beside)
        self.assertNotEqual(self.noise_of_a(A.replace("0.002", "0.003")), alone)

    def test_allan_names_what_does_not_fit_and_the_units_of_data_sheets(self):
        truth, samples = self.path / "truth.csv", self.path / "samples.csv"
        truth.write_text("t_s\n" + "".join(f"{k / 100:.2f}\n" for k in range(1, 100001)))
        for process, fits in ((0.01, False), (0.0, True)):
            self.otolith("sense", "--plugin", "mems_imu", "--set", "gyroscope.noise_density_rad_s_rthz=2e-3",
                         "--set", f"gyroscope.gauss_markov_tau_s={[2.0] + 7 * [0.0]}",
                         "--set", f"gyroscope.gauss_markov_x_rad_s={[process] + 7 * [0.0]}", "--in", truth, "--out", samples)
            said = json.loads(self.otolith("allan", samples, "--column", "angular_velocity.x", "--json"))["columns"]["angular_velocity.x"]
            self.assertEqual(said["fits"], fits)
            self.assertEqual(said["unit"], "rad/s")
            text = self.otolith("allan", samples, "--column", "angular_velocity.x")
            self.assertIn(" rad/√s = ", text)
            self.assertIn(" °/√h", text)
            self.assertIn(" °/h", text)
            self.assertEqual("the terms do not fit" in text, not fits)
            # the process of 2 s and 0.01 among white noise of 0.014
            power = sum(sigma ** 2 for tau, sigma in said["gauss_markov"] if tau > 0.3)
            self.assertAlmostEqual(math.sqrt(power), process, delta=0.3 * process)

    def test_allan_says_what_it_does_not_take(self):
        said = self.otolith("allan", "nothing.csv", "--tau-min", 5, "--tau-max", 2, code=2)
        self.assertIn("--tau-max 2 s is not beyond --tau-min 5 s", said)
        self.assertIn("letters of NBKQR", self.otolith("allan", "nothing.csv", "--terms", "NX", code=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
