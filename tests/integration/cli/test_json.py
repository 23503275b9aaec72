"""--json of the commands that start, play, draw and compute: one JSON value a line on standard output, and nothing else."""
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN = pathlib.Path(sys.argv.pop(1))

WORLD = """
world: jsontest
seed: 3
clock: {rate_hz: 1000, mode: asap}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 200}
      - {name: odo, plugin: odometer, rate_hz: 100}
publish: false
"""
SWEEP = """
sweep: two
world: world.yaml
duration_s: 0.5
seeds: 2
vary: {vehicles.car.nodes.imu.params.law: [mems, mavs]}
metrics: [{name: z, channel: car/imu, field: linear_acceleration.z, compute: [mean, count]}]
"""


class Json(OtolithCase):
    program = str(BIN / "otolith")

    def setUp(self):
        super().setUp()
        self.world = self.path / "world.yaml"
        self.world.write_text(WORLD)

    def lines(self, *arguments):
        return [json.loads(line) for line in self.otolith(*arguments).splitlines()]

    def one(self, *arguments):
        (value,) = self.lines(*arguments)
        return value

    def test_run_prints_its_summary_in_one_line_and_no_live_view(self):
        file = self.path / "summary.json"
        printed = self.one("run", self.world, "--for", "2s", "--json", "--summary", file)
        self.assertEqual(printed, json.loads(file.read_text()))
        self.assertEqual((printed["world"], printed["ticks"], printed["seed"]), ("jsontest", 2000, 3))
        self.assertEqual(printed["topics"]["jsontest/car/imu"]["samples"], 400)

    def test_two_outputs_do_not_share_standard_output(self):
        self.assertIn("--json", self.otolith("run", self.world, "--json", "--csv", "car/imu=-", code=2))
        self.assertIn("--json", self.otolith("plot", "a.csv", "--y", "a", "--json", "--out", "-", code=2))
        self.assertIn("--json", self.otolith("sense", "--plugin", "mems_imu", "--in", "a.csv", "--json", "--out", "-", code=2))
        self.assertIn("--emit", self.otolith("sweep", "s.yaml", "--out", self.path / "s", "--json", "--emit", "slurm", code=2))

    def test_play_prints_a_line_at_the_start_and_one_at_the_end(self):
        file = self.path / "rec.mcap"
        self.otolith("run", self.world, "--for", "1s", "--quiet", "--mcap", file)
        start, end = self.lines("play", file, "--speed", "max", "--no-publish", "--json")
        self.assertEqual((start["world"], start["start_s"], start["end_s"]), ("jsontest", 0.0, 1.0))
        self.assertEqual((end["world"], end["t_s"], end["left_out"]), ("jsontest", 1.0, 0))
        self.assertGreaterEqual(end["samples"], 1300)  # and events

    def test_record_prints_its_file_and_counts(self):
        file = self.path / "rec.mcap"
        self.server = subprocess.Popen([self.program, "run", str(self.world), "--mode", "step", "--quiet"], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.until(lambda: self.call("ls").returncode == 0, "the world")
        recorder = subprocess.Popen([self.program, "record", "-o", str(file), "--for", "1s", "--json"], env=self.environment,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.until(file.exists, "the recording")
        self.otolith("step", 1100)
        facts = json.loads(recorder.communicate(timeout=PATIENCE_S)[0])
        self.assertGreaterEqual(facts.pop("samples"), 1300)  # and events
        self.assertEqual(facts, {"file": str(file), "lost": 0})

    def test_plot_prints_its_curves(self):
        (self.path / "a.csv").write_text("t_s,up,down\n0,0,10\n1,5,5\n2,10,-1\n")
        facts = self.one("plot", self.path / "a.csv", "--y", "up,down", "--out", self.path / "a.svg", "--json")
        self.assertEqual(facts["out"], str(self.path / "a.svg"))
        self.assertEqual(facts["curves"][1], {"name": "down", "file": str(self.path / "a.csv"), "column": "down", "points": 3,
                                              "x": [0, 2], "y": [-1, 10]})

    def test_sense_prints_its_counts(self):
        (self.path / "in.csv").write_text("t_s\n" + "".join(f"{k / 100}\n" for k in range(1, 51)))
        facts = self.one("sense", "--plugin", "mems_imu", "--in", self.path / "in.csv", "--out", self.path / "out.csv", "--json")
        self.assertEqual(facts, {"out": str(self.path / "out.csv"), "rate_hz": 100, "rows": 50, "samples": 50, "discarded": 0, "warned": 0})

    def test_sweep_prints_the_numbers_of_its_summary(self):
        (self.path / "sweep.yaml").write_text(SWEEP)
        facts = self.one("sweep", self.path / "sweep.yaml", "--out", self.path / "s", "--jobs", 1, "--quiet", "--json")
        self.assertEqual((facts["directory"], facts["runs"], facts["failed"]), (str(self.path / "s"), 4, 0))
        self.assertEqual([c["values"] for c in facts["combinations"]],
                         [{"vehicles.car.nodes.imu.params.law": law} for law in ("mems", "mavs")])
        self.assertEqual(facts["combinations"][0]["columns"]["z.count"]["mean"], 100)
        self.assertEqual(facts["combinations"][0]["runs"], 2)

    def test_grade_prints_its_summary_in_one_line(self):
        printed = self.one("grade", "calibration", "--seeds", 1, "--jobs", 1, "--method", "joint", "--out", self.path / "g", "--json")
        self.assertEqual(printed, json.loads((self.path / "g" / "summary.json").read_text()))
        self.assertEqual(printed["grades"][0]["drives"], 1)


if __name__ == "__main__":
    unittest.main()
