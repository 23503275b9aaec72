"""The sensors of a whole vehicle in a world: disturbances and their labels, isolation, the first screen, the test car."""
import csv
import pathlib
import subprocess
import sys
import unittest

PROGRAMS, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
sys.path.insert(0, str(SOURCE / "tests/support"))
from otolith_case import OtolithCase  # noqa: E402

OUTAGE, DRAUGHT = 17, 21
WORLD = """
world: car
origin: {{latitude_deg: 48, longitude_deg: 11, altitude_m: 500, date: 2026-07-01}}
clock: {{rate_hz: 1000, mode: asap}}
environment: {{magnetic_field: wmm2025, atmosphere: isa, pressure_pa: 95000}}
vehicles:
  - name: car
    motion:
      plugin: motion_script
      params: {{segments: [{{kind: accelerate, to_speed_m_s: 10, accel_m_s2: 2}}, {{kind: turn, angle_deg: 90, radius_m: 20}}, {{kind: stop, accel_m_s2: 2, duration_s: 5}}]}}
    nodes:
      - name: gnss
        plugin: gnss
        rate_hz: 5
        mount: {{position_m: [0, 0, 1.5]}}
        params: {{mode: fixed, clean: true, reacquisition_s: 1, fixed: {{time_to_fix_s: 2}}, float: {{time_to_fix_s: 1}}, dgps: {{time_to_fix_s: 0}}}}
        faults: [{{kind: outage, at_s: 4, for_s: 3}}]
{isolation}      - name: baro
        plugin: barometer
        rate_hz: 25
        params: {{iir_coefficient: 3}}
        faults: [{{kind: draught, value: 50, decay_s: 2, at_s: 5, for_s: 5}}]
{isolation}      - name: wheels
        plugin: wheel_encoder
        rate_hz: 50
        params: {{missed_tick_probability: 0.01, slip_percent_m_s2: 0.3, delay_ms: 10}}
{isolation}"""
ISOLATION = "        isolation: {process: lab, budget_us: 400000}\n"


class VehicleSensors(OtolithCase):
    def run_world(self, text, name="world"):
        """CSVs of all channels, each as a list of rows."""
        world = self.path / f"{name}.yaml"
        world.write_text(text)
        topics = ["car/gnss", "car/gnss.clean", "car/gnss.label", "car/baro", "car/baro.label", "car/wheels"]
        files = {topic: self.path / f"{name}-{topic.replace('/', '-')}.csv" for topic in topics}
        recordings = [option for topic, file in files.items() for option in ("--csv", f"{topic}={file}")]
        self.otolith("run", world, "--for", "14s", "--quiet", "--no-publish", *recordings)
        return {topic: file.read_text() for topic, file in files.items()}

    @staticmethod
    def rows(text):
        return list(csv.DictReader(text.splitlines()))

    def test_a_tunnel_is_labelled_and_the_receiver_reacquires_after_it(self):
        recordings = self.run_world(WORLD.format(isolation=""))
        fixes, clean, labels = (self.rows(recordings[f"car/gnss{end}"]) for end in ("", ".clean", ".label"))
        modes = {round(int(row["t_ns"]) / 1e9, 1): int(row["mode"]) for row in fixes}
        self.assertEqual([modes[t] for t in (3.8, 4.0, 6.8, 7.6, 7.8, 8.8, 9.8, 12.0)], [4, 0, 0, 0, 2, 3, 4, 4])
        self.assertEqual({int(row["kind.0"]) for row in labels}, {OUTAGE})
        self.assertEqual([int(labels[0]["t_ns"]), int(labels[-1]["t_ns"])], [4_000_000_000, 6_800_000_000])
        same = [row == other for row, other in zip(fixes, clean)]
        self.assertEqual(same.index(False), 19)  # the sample at 4 s
        self.assertTrue(all(same[49:]))          # from 10 s on, to the last digit

    def test_a_door_is_labelled_and_smoothed_by_the_filter(self):
        recordings = self.run_world(WORLD.format(isolation=""))
        pressure = {int(row["t_ns"]): float(row["fluid_pressure"]) for row in self.rows(recordings["car/baro"])}
        labels = self.rows(recordings["car/baro.label"])
        self.assertEqual({int(row["kind.0"]) for row in labels}, {DRAUGHT})
        self.assertAlmostEqual(float(labels[0]["amount.0"]), 50, delta=1e-9)
        step = [pressure[t] - pressure[4_960_000_000] for t in (5_000_000_000, 5_040_000_000)]
        self.assertAlmostEqual(step[0], 12.5, delta=0.1)  # a quarter of it
        self.assertAlmostEqual(step[1], 21.6, delta=0.3)

    def test_isolated_sensors_have_the_same_samples_and_labels(self):
        self.assertEqual(self.run_world(WORLD.format(isolation=""), "direct"),
                         self.run_world(WORLD.format(isolation=ISOLATION), "isolated"))

    def test_a_disturbance_of_another_sensor_is_refused(self):
        world = self.path / "world.yaml"
        world.write_text(WORLD.format(isolation="").replace("kind: draught, value: 50, decay_s: 2", "kind: outage"))
        self.assertIn("does not simulate faults of kind outage", self.otolith("check", world, code=1))

    def test_the_odometer_of_the_default_world_moves_like_a_car(self):
        file = self.path / "odo.csv"
        self.otolith("run", SOURCE / "configs/worlds/city_drive.yaml", "--mode", "asap", "--for", "20s", "--quiet", "--no-publish",
                     "--csv", f"car/odo={file}")
        speeds = [float(row["speed_m_s"]) for row in self.rows(file.read_text())]
        # 0.02 m/s of noise: 8 deviations of a difference, and 2.5 m/s² for 10 ms
        self.assertLess(max(abs(b - a) for a, b in zip(speeds, speeds[1:])), 8 * 0.02 * 2**0.5 + 0.025)
        self.assertGreater(max(speeds), 12)

    def test_the_tool_for_consistency_prints_each_part(self):
        done = subprocess.run([str(SOURCE / "tools/anees"), "--seeds", "2", "--seconds", "20", "--svg", str(self.path / "a.svg")],
                              env=dict(self.environment, OTOLITH=self.program), capture_output=True, text=True,
                              timeout=300)
        self.assertIn(done.returncode, (0, 1), done.stderr)  # two seeds prove nothing of the figures
        for part in ("position", "velocity", "attitude"):
            self.assertRegex(done.stdout, rf"{part} +ANEES +\d+\.\d\d ± \d+\.\d\d of 3")
        self.assertIn("<polyline", (self.path / "a.svg").read_text())


if __name__ == "__main__":
    OtolithCase.program = str(PROGRAMS / "otolith")
    unittest.main()
