"""otolith sweep: the same table for every number of workers, restarts and shards; its numbers against those of `otolith run`."""
import csv
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

import numpy as np

BIN, TEST_PLUGINS, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))
sys.path.insert(0, str(SOURCE / "tests" / "support"))
from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

WORLD = """
world: w
seed: 1
clock: {rate_hz: 500}
vehicles:
  - name: car
    motion: {plugin: motion_script, params: {repeat: false, segments: [{kind: accelerate, to_speed_m_s: 5, accel_m_s2: 2}, {kind: cruise, duration_s: 9}]}}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 100, mount: {rpy_deg: [1, 2, 179]}, params: {gyroscope: {noise_density_rad_s_rthz: 0.001}}}
      - {name: odo, plugin: odometer, rate_hz: 50, params: {noise_m_s: 0.05}}
      - {name: counter, plugin: PLUGINS/counter.so, rate_hz: 100}
"""
SPEC = """
sweep: test
world: world.yaml
duration_s: 4
seeds: 6
vary:
  vehicles.car.nodes.imu.params.gyroscope.noise_density_rad_s_rthz: [0.001, 0.01]
draw:
  vehicles.car.nodes.odo.params.scale_error_percent: {normal: [0, 1]}
metrics:
  - {channel: car/imu, field: [angular_velocity.x, linear_acceleration.z], compute: [count, mean, std, rms, min, max, p5, p95, last]}
  - {name: speed_error, channel: car/odo, field: speed_m_s, compute: [mean, rms], from_s: 1,
     against: {channel: car/motion, field: longitudinal_speed_m_s}}
  - {name: z, channel: car/imu, field: angular_velocity.z, compute: [allan_n]}
  - {name: wrapped, channel: car/counter, field: value, against: {path: vehicles.car.nodes.imu.mount.rpy_deg.2}, compute: [last]}
"""
TROUBLE = """
sweep: trouble
world: world.yaml
duration_s: 0.5
seeds: 2
vary: {vehicles.car.nodes.counter.params.trouble: [none, crash, error, warn]}
metrics: [{name: n, channel: car/counter, field: n, compute: [last]}]
"""
# A metric that holds the runs whose number the file LIMIT does not allow yet, so that a sweep cannot be over before its test ends it.
HELD = """
import time


def held(records, run):
    while run.run >= int(open("LIMIT").read()):
        time.sleep(0.01)
    return 0
"""
# The same metric of a Python process that does not start, if it is the third: the first is of the check before the first run, two are of workers.
STARTING = """
import os
import time

starts = os.open("STARTS", os.O_WRONLY | os.O_APPEND)
os.write(starts, b"x")
while os.lseek(starts, 0, os.SEEK_CUR) == 3:
    time.sleep(0.01)
"""
NOISE = "vehicles.car.nodes.imu.params.gyroscope.noise_density_rad_s_rthz"


class Sweep(OtolithCase):
    program = str(BIN / "otolith")

    def setUp(self):
        super().setUp()
        self.write("world.yaml", WORLD.replace("PLUGINS", str(TEST_PLUGINS)))

    def write(self, name, text):
        (self.path / name).write_text(text)
        return self.path / name

    def sweep(self, spec, out, *options, code=0):
        return self.otolith("sweep", self.path / spec, "--out", self.path / out, *options, code=code)

    def result(self, out):
        return (self.path / out / "result.csv").read_bytes()

    def rows(self, out, name="result.csv"):
        with open(self.path / out / name, newline="") as file:
            return list(csv.DictReader(file))

    def journal_runs(self, out):
        """The run of each complete row of every journal."""
        runs = []
        for path in (self.path / out).glob("journal/*/*.rows"):
            runs += [int(line[17:].split(b",")[0]) for line in path.read_bytes().split(b"\n")[:-1]]
        return runs

    # ---- the table ----

    def test_the_table_is_the_same_for_every_number_of_workers_and_shards(self):
        self.write("spec.yaml", SPEC)
        self.sweep("spec.yaml", "one", "--jobs", 1)
        self.sweep("spec.yaml", "three", "--jobs", 3)
        for k in range(1, 6):
            self.sweep("spec.yaml", "shards", "--shard", f"{k}/5", "--jobs", 1 + k % 2)
        self.assertFalse((self.path / "shards" / "result.csv").exists())
        self.sweep("spec.yaml", "shards", "--merge")
        self.assertEqual(self.result("one"), self.result("three"))
        self.assertEqual(self.result("one"), self.result("shards"))
        for name in ("summary.csv",):
            self.assertEqual((self.path / "one" / name).read_bytes(), (self.path / "shards" / name).read_bytes())
        rows = self.rows("one")
        self.assertEqual([int(row["run"]) for row in rows], list(range(12)))
        self.assertEqual([row["error"] for row in rows], [""] * 12)
        self.assertEqual([row[NOISE] for row in rows], ["0.001"] * 6 + ["0.01"] * 6)
        self.assertEqual(sorted(self.journal_runs("one")), list(range(12)))

    def test_shards_of_machines_without_a_common_disk_are_merged(self):
        self.write("spec.yaml", SPEC)
        self.sweep("spec.yaml", "a", "--shard", "1/2")
        error = self.sweep("spec.yaml", "b", "--merge=" + str(self.path / "a"), code=1)
        self.assertIn("6 of 12 runs have no row", error)
        self.sweep("spec.yaml", "b", "--shard", "2/2")
        self.sweep("spec.yaml", "b", "--merge=" + str(self.path / "a"))
        self.sweep("spec.yaml", "whole")
        self.assertEqual(self.result("b"), self.result("whole"))

    def test_the_numbers_of_a_run_are_those_of_its_recording(self):
        self.write("spec.yaml", SPEC)
        self.sweep("spec.yaml", "out")
        row = self.rows("out")[8]
        scale = row["vehicles.car.nodes.odo.params.scale_error_percent"]
        self.otolith("run", self.path / "world.yaml", "--mode", "asap", "--for", "4s", "--quiet", "--seed", row["seed"],
                     "--set", f"{NOISE}={row[NOISE]}", "--set", f"vehicles.car.nodes.odo.params.scale_error_percent={scale}",
                     *(f"--csv=car/{node}={self.path / node}.csv" for node in ("imu", "odo", "motion")))
        imu, odo, motion = (np.genfromtxt(self.path / f"{node}.csv", delimiter=",", names=True, deletechars="") for node in ("imu", "odo", "motion"))
        for field in ("angular_velocity.x", "linear_acceleration.z"):
            values = imu[field]
            expected = {"count": len(values), "mean": values.mean(), "std": values.std(ddof=1), "rms": np.sqrt((values ** 2).mean()),
                        "min": values.min(), "max": values.max(), "p5": np.percentile(values, 5), "p95": np.percentile(values, 95),
                        "last": values[-1]}
            for name, number in expected.items():
                self.assertAlmostEqual(float(row[f"car/imu.{field}.{name}"]), number, delta=1e-10 * max(1, abs(number)), msg=name)
        late = odo["t_ns"] >= 1e9
        error = odo["speed_m_s"][late] - np.interp(odo["t_ns"][late], motion["t_ns"], motion["longitudinal_speed_m_s"])
        self.assertAlmostEqual(float(row["speed_error.mean"]), error.mean(), delta=1e-9)
        self.assertAlmostEqual(float(row["speed_error.rms"]), np.sqrt((error ** 2).mean()), delta=1e-9)
        # The Allan deviation's N of 400 samples of white noise has a standard error of about 5 %: 6 of them.
        self.assertAlmostEqual(float(row["z.allan_n"]), 0.01 / np.sqrt(2), delta=0.3 * 0.01 / np.sqrt(2))
        self.assertEqual(float(row["wrapped.last"]), 400 - 179)

    def test_the_summary_has_the_statistics_of_each_combination(self):
        self.write("spec.yaml", SPEC + f"plot: {{x: {NOISE}, y: [speed_error.rms.mean, speed_error.rms.p95]}}\n")
        self.sweep("spec.yaml", "out")
        rows, summary = self.rows("out"), self.rows("out", "summary.csv")
        self.assertEqual([row[NOISE] for row in summary], ["0.001", "0.01"])
        for index, line in enumerate(summary):
            values = np.array([float(row["speed_error.rms"]) for row in rows[6 * index:6 * index + 6]])
            self.assertEqual((line["runs"], line["failed"]), ("6", "0"))
            for name, number in {"mean": values.mean(), "std": values.std(ddof=1), "p5": np.percentile(values, 5),
                                 "p50": np.percentile(values, 50), "p95": np.percentile(values, 95)}.items():
                self.assertAlmostEqual(float(line[f"speed_error.rms.{name}"]), number, delta=1e-10, msg=name)
        picture = (self.path / "out" / "plot.svg").read_text()
        self.assertIn("speed_error.rms.p95", picture)
        self.assertEqual(picture.count("<polyline"), 2)

    # ---- restarts ----

    def start(self, spec, out, *options):
        return subprocess.Popen([self.program, "sweep", str(self.path / spec), "--out", str(self.path / out), "--quiet", *options],
                                env=self.environment, stderr=subprocess.PIPE, text=True)

    def write_held(self, seeds):
        self.write("held.py", HELD.replace("LIMIT", str(self.path / "limit")))
        self.write("spec.yaml", SPEC.replace("seeds: 6", f"seeds: {seeds}") +
                   "  - {python: held.py, function: held, channels: [car/odo], columns: [held]}\n")

    def allow(self, limit):
        """Lets the sweep make the runs below the limit. The file is replaced, because it is read meanwhile."""
        self.write("limit.new", str(limit)).rename(self.path / "limit")

    def test_a_killed_sweep_continues_with_nothing_lost_or_twice(self):
        self.write_held(100)
        self.allow(200)
        self.sweep("spec.yaml", "whole", "--jobs", 2)
        for kill in range(3):
            self.allow(50 * (kill + 1))
            process = self.start("spec.yaml", "killed", "--jobs", "2")
            kept = len(self.journal_runs("killed"))
            self.until(lambda: len(self.journal_runs("killed")) > kept + 10 or process.poll() is not None, "rows")
            process.kill()
            process.wait()
            process.stderr.close()
        self.assertLess(len(set(self.journal_runs("killed"))), 200)
        self.allow(200)
        self.sweep("spec.yaml", "killed")
        self.assertEqual(self.result("killed"), self.result("whole"))
        self.assertEqual(sorted(self.journal_runs("killed")), list(range(200)))

    def test_an_interrupted_sweep_reports_what_is_done_and_continues(self):
        self.write_held(200)
        self.allow(100)
        process = self.start("spec.yaml", "out", "--jobs", "2")
        self.until(lambda: self.journal_runs("out") or process.poll() is not None, "rows")
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(process.returncode, 130, error)
        self.allow(400)
        done = int(re.search(r"interrupted after (\d+) of 400 runs; the same command continues there", error).group(1))
        self.assertEqual(done, len(self.journal_runs("out")))
        error = self.call("sweep", self.path / "spec.yaml", "--out", self.path / "out").stderr
        self.assertIn(f"{done} runs were finished before", error)
        self.assertEqual(sorted(self.journal_runs("out")), list(range(400)))

    def test_a_sweep_that_is_interrupted_while_a_worker_starts_reports_what_is_done(self):
        self.write_held(200)
        self.allow(100)
        starts = self.write("starts", "")
        self.write("held.py", STARTING.replace("STARTS", str(starts)) + (self.path / "held.py").read_text())
        process = self.start("spec.yaml", "out", "--jobs", "2")
        self.until(lambda: starts.stat().st_size == 3 and self.journal_runs("out") or process.poll() is not None, "rows")
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=PATIENCE_S)[1]
        self.assertEqual(process.returncode, 130, error)
        self.assertIn(f"interrupted after {len(self.journal_runs('out'))} of 400 runs; the same command continues there", error)

    def test_rows_of_another_sweep_are_not_mixed_with_these(self):
        self.write("spec.yaml", SPEC)
        self.sweep("spec.yaml", "out")
        self.write("spec.yaml", SPEC + "# a comment changes nothing\n")
        self.sweep("spec.yaml", "out")
        self.write("spec.yaml", SPEC.replace("duration_s: 4", "duration_s: 3"))
        self.assertIn("holds rows of another sweep", self.sweep("spec.yaml", "out", code=1))

    def test_files_that_never_answer_are_refused(self):
        os.mkfifo(self.path / "fifo.yaml")
        self.assertIn("it is not a regular file", self.sweep("fifo.yaml", "out", code=1))
        self.write("spec.yaml", re.sub("world: .*", "world: fifo.yaml", SPEC))
        self.assertIn("it is not a regular file", self.sweep("spec.yaml", "out", code=1))
        self.write("spec.yaml", SPEC)
        (self.path / "out").mkdir()
        os.mkfifo(self.path / "out" / "sweep.hash")
        self.assertIn("it is not a regular file", self.sweep("spec.yaml", "out", code=1))

    # ---- failures ----

    def test_a_failed_run_is_a_row_with_its_sentence(self):
        self.write("spec.yaml", TROUBLE)
        done = self.call("sweep", self.path / "spec.yaml", "--out", self.path / "out", "--jobs", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("4 of 8 runs failed", done.stderr)
        rows = self.rows("out")
        self.assertEqual([row["n.last"] for row in rows], ["50", "50", "", "", "", "", "50", "50"])
        for row in rows[2:4]:
            self.assertIn("the run ended its process by signal 11", row["error"])
        for row in rows[4:6]:
            self.assertIn("w/car/counter", row["error"])
        self.sweep("spec.yaml", "other", "--jobs", 1)
        self.assertEqual(self.result("out"), self.result("other"))
        self.sweep("spec.yaml", "out", "--retry-failed")
        self.assertEqual(self.result("out"), self.result("other"))
        self.assertEqual(len(self.journal_runs("out")), 12)
        self.assertEqual([line["failed"] for line in self.rows("out", "summary.csv")], ["0", "2", "2", "0"])

    def test_an_error_of_the_spec_names_its_place_before_anything_runs(self):
        for text, expected in (
                (SPEC.replace("[0.001, 0.01]", "[0.001, -1]"), "spec.yaml:7:77: error: 'gyroscope.noise_density_rad_s_rthz' is -1"),
                (SPEC.replace("car/imu, field: [", "car/imus, field: ["), "spec.yaml:11:15: error: there is no channel 'car/imus'"),
                (SPEC.replace("angular_velocity.x,", "angular_velocity.w,"), "spec.yaml:11:32: error: 'car/imu' has no number 'angular_velocity.w'"),
                (SPEC.replace("rpy_deg.2", "rpy_deg.3"), "spec.yaml:15:66: error: the world file has no value at"),
                (SPEC + f"plot: {{x: {NOISE}, y: [z.mean]}}", ": error: 'z.mean' is no column of summary.csv"),
                (SPEC.replace("duration_s: 4", "duration_s: 1e9").replace("seeds: 6", "seeds: 1"), "GiB of memory")):
            self.write("spec.yaml", text)
            self.assertIn(expected, self.sweep("spec.yaml", "out", code=1))
            self.assertFalse((self.path / "out").exists())

    # ---- Python ----

    def test_python_functions_get_the_records_of_a_run(self):
        self.write("metrics.py", "import numpy as np\n\n\ndef speeds(records, run):\n"
                   "    print('to standard error')\n"
                   "    odo, motion = records['car/odo'], records['car/motion']\n"
                   "    assert len(motion) == 2000 and not odo.flags.writeable\n"
                   "    if run.seed == 2:\n        raise ValueError('no\\nresult')\n"
                   f"    return {{'rms': np.sqrt((odo['speed_m_s'] ** 2).mean()), 'noise': run.values['{NOISE}'], 'none': None}}\n\n\n"
                   "def first(records, run):\n    return records['car/imu']['angular_velocity.x'][0]\n")
        self.write("spec.yaml", SPEC.replace("seeds: 6", "seeds: 3") +
                   "  - {python: metrics.py, function: speeds, channels: [car/odo, car/motion], columns: [noise, rms, none]}\n"
                   "  - {python: metrics.py, function: first, channels: [car/imu], columns: [first]}\n"
                   "  - {name: odo, channel: car/odo, field: speed_m_s, compute: [rms]}\n")
        self.sweep("spec.yaml", "out", "--jobs", 2)
        for row in self.rows("out"):
            if row["seed"] == "2":
                self.assertEqual((row["error"], row["odo.rms"]), ("Python: ValueError: no result", ""))
            else:
                self.assertAlmostEqual(float(row["rms"]), float(row["odo.rms"]), delta=1e-9)
                self.assertEqual((row["noise"], row["none"], row["error"]), (row[NOISE], "", ""))
                self.assertNotEqual(row["first"], "")
        self.sweep("spec.yaml", "one", "--jobs", 1)
        self.assertEqual(self.result("out"), self.result("one"))

    def test_a_python_process_that_ends_fails_one_run(self):
        self.write("metrics.py", "import os\n\n\ndef end(records, run):\n    if run.run == 3:\n        os._exit(1)\n    return 1.5\n")
        self.write("spec.yaml", SPEC + "  - {python: metrics.py, function: end, channels: [car/odo], columns: [a]}\n")
        self.sweep("spec.yaml", "out", "--jobs", 1)
        rows = self.rows("out")
        self.assertEqual([row["a"] for row in rows], ["1.5"] * 3 + [""] + ["1.5"] * 8)
        self.assertIn("the Python process of the metrics ended", rows[3]["error"])

    def test_a_python_file_with_an_error_is_an_error_of_the_spec(self):
        self.write("metrics.py", "def f(:\n")
        self.write("spec.yaml", SPEC + "  - {python: metrics.py, function: f, channels: [car/odo], columns: [a]}\n")
        self.assertRegex(self.sweep("spec.yaml", "out", code=1), r"spec.yaml:16:5: error: Python: SyntaxError")

    # ---- scripts ----

    def test_the_script_for_parallel_makes_the_same_table(self):
        """A `parallel` of one line replaces GNU parallel: each line of the input becomes {} of the command."""
        self.write("spec.yaml", SPEC)
        self.sweep("spec.yaml", "whole")
        script = self.write("run.sh", self.sweep("spec.yaml", "out dir", "--emit", "parallel", "--tasks", 4))
        fake = self.write("parallel", "#!/bin/bash\nshift 2\nwhile read -r k; do \"${@//\\{\\}/$k}\"; done\n")
        fake.chmod(0o755)
        environment = dict(self.environment, PATH=f"{self.path}:{os.environ['PATH']}")
        done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.result("out dir"), self.result("whole"))
        self.assertEqual(len(list((self.path / "out dir" / "journal").iterdir())), 4)

    def test_a_script_has_tasks_of_ten_seconds(self):
        self.write("spec.yaml", SPEC)
        self.assertIn("12 runs in 1 tasks", self.sweep("spec.yaml", "out", "--emit", "slurm"))


if __name__ == "__main__":
    unittest.main()
