"""otolith calibrate mount and otolith grade calibration, as a new user runs them."""
import csv
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

BIN, PLUGINS, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
OTOLITH = str(BIN / "otolith")
WORLD = SOURCE / "configs/worlds/mount_calibration.yaml"
COMMA = SOURCE.parent / "shared/data/drive_comma2k19"
TRUE_RPY = (4.0, -2.5, 3.0)
FREE = ("--tolerance", "2,2.5")  # roll is as good as the road's bank allows: here it is the writing that is tried


def environment(folder):
    made = dict(os.environ, XDG_RUNTIME_DIR=str(folder), OTOLITH_PLUGIN_PATH=str(PLUGINS))
    made.pop("OTOLITH_WORLD", None)
    return made


def call(folder, *arguments, code=0):
    done = subprocess.run([OTOLITH, *map(str, arguments)], env=environment(folder), capture_output=True, text=True, timeout=300,
                          cwd=folder)
    assert done.returncode == code, f"{arguments}: {done.returncode} {done.stdout}{done.stderr}"
    return done


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


class Drive(unittest.TestCase):
    """Logs of five minutes of the world with a wrongly mounted IMU, made once."""

    @classmethod
    def setUpClass(cls):
        cls.common = tempfile.TemporaryDirectory()
        cls.logs = pathlib.Path(cls.common.name)
        call(cls.logs, "run", WORLD, "--set", "clock.rate_hz=100", "--mode", "asap", "--for", "300s", "--quiet", "--csv",
             "car/imu=raw_imu.csv", "--csv", "car/odometer=raw_speed.csv", "--csv", "car/calibration=live.csv")
        with open(cls.logs / "imu.csv", "w") as file:
            file.write("t_s,ax,ay,az,gx,gy,gz\n")
            for row in read_rows(cls.logs / "raw_imu.csv"):
                numbers = [row[f"{kind}.{axis}"] for kind in ("linear_acceleration", "angular_velocity") for axis in "xyz"]
                file.write(f"{int(row['t_ns']) * 1e-9:.9f}," + ",".join(numbers) + "\n")
        with open(cls.logs / "speed.csv", "w") as file:
            file.write("t_s,v_m_s\n")
            for row in read_rows(cls.logs / "raw_speed.csv"):
                file.write(f"{int(row['t_ns']) * 1e-9:.9f},{row['speed_m_s']}\n")

    @classmethod
    def tearDownClass(cls):
        cls.common.cleanup()

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def calibrate(self, *arguments, imu=None, speed=None, code=0):
        return call(self.path, "calibrate", "mount", "--imu", imu or self.logs / "imu.csv", "--speed",
                    speed or self.logs / "speed.csv", *arguments, code=code)

    def result(self, *arguments, **inputs):
        return json.loads(self.calibrate("--json", *arguments, **inputs).stdout)

    def changed(self, name, change):
        """A log with each row changed: `change` takes and gives a list of numbers, or None to leave the row out."""
        made = self.path / name
        with open(self.logs / name) as source, open(made, "w") as target:
            target.write(source.readline())
            for line in source:
                row = change([float(cell) for cell in line.split(",")])
                if row is not None:
                    target.write(",".join(repr(cell) for cell in row) + "\n")
        return made

    # ---- the result ----

    def test_json_has_exactly_these_keys_and_the_truth_lies_within_the_bounds(self):
        result = self.result()
        self.assertEqual(list(result), ["state", "percent", "rpy_deg", "bound_3sigma_deg", "seconds", "axes"])
        self.assertIn(result["state"], ("NOT_ACCEPTED", "ACCEPTED"))
        self.assertTrue(0 <= result["percent"] <= 100)
        self.assertAlmostEqual(result["seconds"], 300, delta=1)
        for true, found, bound in zip(TRUE_RPY, result["rpy_deg"], result["bound_3sigma_deg"]):
            self.assertLess(abs(found - true), bound)
        self.assertLess(result["bound_3sigma_deg"][1], 0.3)
        self.assertLess(result["bound_3sigma_deg"][2], 0.3)

    def test_each_axis_is_accepted_on_its_own_at_the_tolerance_and_confidence_asked_for(self):
        result = self.result()
        axes = result["axes"]
        self.assertEqual(list(axes), ["pitch", "yaw", "roll_repeatable", "roll_absolute"])
        self.assertTrue(axes["pitch"]["accepted"] and axes["yaw"]["accepted"])
        self.assertFalse(axes["roll_absolute"]["accepted"])
        self.assertEqual(result["state"], "NOT_ACCEPTED")
        self.assertAlmostEqual(axes["pitch"]["value"], result["rpy_deg"][1], places=9)
        self.assertAlmostEqual(axes["pitch"]["bound"], result["bound_3sigma_deg"][1], places=9)
        self.assertGreater(axes["roll_absolute"]["bound"], 1)  # nothing is known of the crown
        self.assertLess(axes["roll_repeatable"]["bound"], axes["roll_absolute"]["bound"])
        strict = self.result("--tolerance", "0.02")["axes"]
        self.assertFalse(strict["pitch"]["accepted"] or strict["yaw"]["accepted"])
        half = self.result("--confidence", "68.2689,68.2689")["axes"]
        self.assertAlmostEqual(half["pitch"]["bound"], axes["pitch"]["bound"] / 3, places=4)
        self.assertAlmostEqual(half["roll_absolute"]["bound"], axes["roll_absolute"]["bound"] / 1.96, places=4)
        self.assertIn("above 0", self.calibrate("--tolerance", "-1", code=2).stderr)
        self.assertIn("--static", self.calibrate("--opposite", code=2).stderr)

    def test_a_log_gives_what_the_world_gave_live(self):
        result = self.result("--set", "road.traffic_side=right")
        live = read_rows(self.logs / "live.csv")[-1]
        for i in range(3):
            self.assertAlmostEqual(result["rpy_deg"][i], float(live[f"rpy_deg.{i}"]), delta=0.02)

    def test_the_nominal_mount_is_where_the_search_begins(self):
        result = self.result("--nominal", "6,-4,1")
        for true, found, bound in zip(TRUE_RPY, result["rpy_deg"], result["bound_3sigma_deg"]):
            self.assertLess(abs(found - true), bound)

    def test_the_trace_is_the_result_over_time(self):
        result = self.result("--trace", "trace.csv")
        rows = read_rows(self.path / "trace.csv")
        self.assertEqual(list(rows[0])[:6], ["t_s", "state", "percent", "roll_deg", "pitch_deg", "yaw_deg"])
        times = [float(row["t_s"]) for row in rows]
        self.assertEqual(times, sorted(times))
        self.assertGreater(len(rows), 2900)
        self.assertAlmostEqual(float(rows[-1]["pitch_deg"]), result["rpy_deg"][1], places=6)
        for name, axis in result["axes"].items():
            self.assertAlmostEqual(float(rows[-1][f"{name}_axis_deg"]), axis["value"], places=6)
            self.assertAlmostEqual(float(rows[-1][f"{name}_axis_bound_deg"]), axis["bound"], places=6)
            self.assertEqual(rows[-1][f"{name}_accepted"], "1" if axis["accepted"] else "0")

    def test_text_says_what_is_still_needed_and_the_method(self):
        text = self.calibrate("--method", "histogram").stdout
        self.assertIn("histogram", text)
        self.assertIn("roll", text)

    # ---- writing back ----

    def test_D33_a_world_gets_the_new_mount_and_keeps_every_other_byte(self):
        world = self.path / "world.yaml"
        shutil.copy(WORLD, world)
        self.assertEqual(self.result("--nominal", "0,0,0", "--write", world, *FREE)["state"], "ACCEPTED")
        old, new = WORLD.read_text().splitlines(), world.read_text().splitlines()
        different = [(a, b) for a, b in zip(old, new) if a != b]
        self.assertEqual(len(old), len(new))
        self.assertEqual(len(different), 1)
        self.assertIn("# the truth", different[0][1])
        call(self.path, "check", world)
        again = self.result("--write", world, "--write-to", "other.yaml", *FREE)  # the nominal mount is now the one in the written file
        self.assertEqual(again["state"], "ACCEPTED")
        self.assertEqual(world.read_text().splitlines(), new)
        self.assertTrue((self.path / "other.yaml").exists())

    def test_a_mount_that_was_not_written_down_is_added(self):
        for name, node in (("lines", "      - name: imu\n        plugin: mems_imu\n"),
                           ("braces", "      - {name: imu, plugin: mems_imu}\n"),
                           ("position", "      - name: imu\n        plugin: mems_imu\n        mount:\n          position_m: [1, 0, 0]\n")):
            world = self.path / f"{name}.yaml"
            world.write_text("world: w\nvehicles:\n  - name: car\n    nodes:\n" + node + "    # the end\n")
            self.assertEqual(self.result("--write", world, *FREE)["state"], "ACCEPTED")
            text = world.read_text()
            self.assertIn("rpy_deg: [", text)
            self.assertIn("# the end", text)
            again = self.calibrate("--write", world, "--write-to", "x.yaml", *FREE)
            self.assertIn("mount of car/imu", again.stderr)

    def test_D33_a_file_that_is_not_there_becomes_a_rig(self):
        self.assertEqual(self.result("--write", "rig.yaml", *FREE)["state"], "ACCEPTED")
        self.assertIn("rpy_deg: [", (self.path / "rig.yaml").read_text())

    def test_what_is_not_accepted_is_not_written(self):
        world = self.path / "world.yaml"
        shutil.copy(WORLD, world)
        done = self.calibrate("--write", world, "--set", "accept.absolute_roll_deg=0.01")
        self.assertIn("nothing is written", done.stderr)
        self.assertEqual(world.read_text(), WORLD.read_text())
        self.assertEqual(sorted(p.name for p in self.path.iterdir()), ["world.yaml"])

    def test_a_world_of_several_imus_asks_which(self):
        world = self.path / "world.yaml"
        world.write_text("world: w\nvehicles:\n  - name: car\n    nodes:\n      - {name: a, plugin: mems_imu}\n"
                         "      - {name: b, plugin: mems_imu}\n")
        self.assertIn("--node", self.calibrate("--write", world, code=1).stderr)
        self.assertEqual(self.result("--write", world, "--node", "car/b", *FREE)["state"], "ACCEPTED")
        self.assertIn("{mount: {rpy_deg: [", world.read_text())

    # ---- input that is wrong ----

    def test_D21_D22_wrong_units_signs_and_gaps_are_named_and_never_accepted(self):
        degrees = 180 / 3.141592653589793
        cases = {
            "speed in km/h": lambda: {"speed": self.changed("speed.csv", lambda r: [r[0], 3.6 * r[1]])},
            "speed of the other sign": lambda: {"speed": self.changed("speed.csv", lambda r: [r[0], -r[1]])},
            "gyroscope in deg/s": lambda: {"imu": self.changed("imu.csv", lambda r: r[:4] + [degrees * w for w in r[4:]])},
            "accelerometer in g": lambda: {"imu": self.changed("imu.csv", lambda r: r[:1] + [a / 9.80665 for a in r[1:4]] + r[4:])},
            "no speed": lambda: {"speed": self.changed("speed.csv", lambda r: r if r[0] < 1 else None)},
            "a speed that is NaN": lambda: {"speed": self.changed("speed.csv", lambda r: [r[0], float("nan")])},
            "an axis that is NaN": lambda: {"imu": self.changed("imu.csv", lambda r: r[:3] + [float("nan")] + r[4:])},
            "an IMU of 10 Hz": lambda: {"imu": self.changed("imu.csv", lambda r: r if round(100 * r[0]) % 10 == 0 else None)},
        }
        for name, inputs in cases.items():
            with self.subTest(name):
                done = self.calibrate("--json", *FREE, **inputs())
                result = json.loads(done.stdout)
                self.assertNotEqual(result["state"], "ACCEPTED")
                self.assertIn("warning", done.stderr)

    def test_a_jump_of_time_is_survived(self):
        jumped = {name: self.changed(name, lambda r: [r[0] + (600 if r[0] > 150 else 0)] + r[1:]) for name in ("imu.csv", "speed.csv")}
        result = self.result(imu=jumped["imu.csv"], speed=jumped["speed.csv"])
        for true, found, bound in zip(TRUE_RPY, result["rpy_deg"], result["bound_3sigma_deg"]):
            self.assertLess(abs(found - true), bound)

    def test_files_that_cannot_be_used_are_refused_with_their_place(self):
        (self.path / "short.csv").write_text("t_s,ax,ay,az,gx,gy\n0,0,0,9.8,0,0\n")
        (self.path / "back.csv").write_text("t_s,v_m_s\n0,1\n2,1\n1,1\n")
        (self.path / "empty.csv").write_text("t_s,v_m_s\n")
        self.assertIn("angular_velocity.z", self.calibrate(imu="short.csv", code=1).stderr)
        self.assertIn("back.csv", self.calibrate(speed="back.csv", code=1).stderr)
        self.assertIn("no sample", self.calibrate(speed="empty.csv", code=1).stderr)
        self.assertIn("missing.csv", self.calibrate(speed="missing.csv", code=1).stderr)

    def test_a_wrong_command_line_is_a_usage_error(self):
        self.calibrate("--nominal", "1,2", code=2)
        call(self.path, "calibrate", "wheels", code=2)
        call(self.path, "calibrate", "mount", "--imu", "x.csv", code=2)
        self.assertIn("joint", self.calibrate("--method", "magic", code=1).stderr)

    # ---- a garage, and a real drive ----

    def test_D34_a_level_garage_gives_a_degree_within_a_minute(self):
        world = self.path / "garage.yaml"
        world.write_text("""
world: garage
seed: 3
clock: {rate_hz: 100, mode: asap}
publish: false
vehicles:
  - name: car
    motion:
      plugin: motion_script
      params:
        segments:
          - {kind: stop, duration_s: 6}
          - {kind: accelerate, to_speed_m_s: 5, accel_m_s2: 2.5}
          - {kind: stop, accel_m_s2: 2.5, duration_s: 2}
          - {kind: accelerate, to_speed_m_s: 5, accel_m_s2: 2.5}
          - {kind: turn, angle_deg: 180, radius_m: 8}
          - {kind: stop, accel_m_s2: 2.5, duration_s: 2}
          - {kind: accelerate, to_speed_m_s: 5, accel_m_s2: 2.5}
          - {kind: stop, accel_m_s2: 2.5, duration_s: 2}
          - {kind: accelerate, to_speed_m_s: 5, accel_m_s2: 2.5}
          - {kind: turn, angle_deg: 180, radius_m: 8}
          - {kind: stop, accel_m_s2: 2.5, duration_s: 2}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 100, mount: {rpy_deg: [-3, 2, 1.5]}, params: {accelerometer.noise_density_m_s2_rthz: 0.002, gyroscope.noise_density_rad_s_rthz: 1e-4}}
      - {name: odometer, plugin: odometer, rate_hz: 50}
""")
        call(self.path, "run", world, "--for", "58s", "--quiet", "--csv", "car/imu=imu.csv", "--csv", "car/odometer=speed.csv")
        result = self.result("--static", imu="imu.csv", speed="speed.csv")
        for true, found in zip((-3, 2, 1.5), result["rpy_deg"]):
            self.assertLess(abs(found - true), 1)

    def test_a_real_minute_is_not_accepted_and_not_far_off(self):
        if not COMMA.exists():
            self.skipTest(f"{COMMA} is not there")
        for name in ("imu", "can"):
            with gzip.open(COMMA / f"{name}.csv.gz", "rt") as source:
                (self.path / f"{name}.csv").write_text(source.read())
        for method in ("joint", "histogram"):
            result = self.result("--nominal", "180,0,0", "--method", method, imu="imu.csv", speed="can.csv")
            self.assertNotEqual(result["state"], "ACCEPTED")
        result = self.result("--nominal", "180,0,0", "--set", "imu.axes_sigma=0.01", imu="imu.csv", speed="can.csv")  # a phone's part
        self.assertLess(abs(result["rpy_deg"][1] - 3.7), result["bound_3sigma_deg"][1])
        self.assertLess(abs(result["rpy_deg"][2] + 0.3), result["bound_3sigma_deg"][2])


class Live(unittest.TestCase):
    def test_the_view_shows_what_was_found_and_the_truth_below(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o700)
            server = subprocess.Popen([str(BIN / "otolithd"), str(WORLD), "--mode", "step", "--no-publish"], env=environment(folder),
                                      stderr=subprocess.DEVNULL)
            try:
                deadline = time.monotonic() + 300
                while subprocess.run([OTOLITH, "step", "70000"], env=environment(folder), capture_output=True).returncode != 0:
                    self.assertIsNone(server.poll())
                    self.assertLess(time.monotonic(), deadline)
                lines = call(folder, "top").stdout.splitlines()
            finally:
                server.terminate()
                server.wait(timeout=300)
        at = next(i for i, line in enumerate(lines) if line.strip().startswith("mount_calibration/car/calibration "))
        self.assertRegex(lines[at], r"not accepted, [1-9]\d %$")
        found, bound = map(float, re.search(r"roll +(\S+) ± (\S+)", lines[at + 1]).groups())
        self.assertLess(abs(found - TRUE_RPY[0]), bound)
        self.assertEqual(lines[at + 2].split(), ["truth", "roll", "4.00", "pitch", "-2.50", "yaw", "3.00"])


class Grade(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def grade(self, *arguments, code=0):
        return call(self.path, "grade", "calibration", *arguments, code=code)

    def make_grade(self, name="mine", draw="{}", world=None):
        """A world of the server and the grade of it."""
        world = world or (SOURCE / "configs/worlds/calibration_city.yaml").read_text().replace("rpy_deg: [0, 0, 0]}", "rpy_deg: [3, 2, -1]}")
        (self.path / "world.yaml").write_text(world)
        (self.path / f"{name}.yaml").write_text(f"grade: {name}\nworld: world.yaml\ndraw: {draw}\n")
        return f"./{name}.yaml"

    def test_D29_one_command_makes_tables_and_figures(self):
        done = self.grade("--seeds", 1, "--out", "out")
        rows = read_rows(self.path / "out/chunks.csv")
        self.assertEqual(len(rows), 2 * 27)
        self.assertEqual({row["method"] for row in rows}, {"joint", "histogram"})
        self.assertEqual(rows[0]["seed"], "1000000")
        summary = json.loads((self.path / "out/summary.json").read_text())
        self.assertEqual([grade["method"] for grade in summary["grades"]], ["joint", "histogram"])
        self.assertEqual(len(summary["grades"][0]["times"]), 27)
        for name in ("kpi_city.svg", "histograms_city.svg"):
            self.assertTrue((self.path / "out" / name).read_text().endswith("</svg>\n"))
        self.assertIn("DriveWorks", (self.path / "out/kpi_city.svg").read_text())
        for name, copy in (("worlds/calibration_city", "world_city"), ("grades/calibration_city", "draws_city")):
            self.assertEqual((self.path / f"out/{copy}.yaml").read_text(), (SOURCE / f"configs/{name}.yaml").read_text())
        self.assertIn("times real time", done.stderr)

    def test_D29_a_drive_on_a_level_path_is_that_of_the_server_to_the_digit(self):
        level = ("vehicles.car.motion.params.path", "level"), ("vehicles.car.motion.params.vibration.vertical_rms_m_s2", "0"), (
            "vehicles.car.vibration", "[{noise: {accel_body_m_s2: [0, 0, 0.6], rate_hz: 100, differenced: true}}]")
        grade = self.make_grade()
        (self.path / "mine.yaml").write_text("grade: mine\nworld: world.yaml\nset:\n" +
                                             "".join(f"  {key}: {value}\n" for key, value in level) + "draw: {}\n")
        self.check_against_the_server(grade, [word for key, value in level for word in ("--set", f"{key}={value}")])

    def test_D29_a_drive_is_that_of_the_server_to_the_digit(self):
        self.check_against_the_server(self.make_grade(), [])

    def test_axes_are_counted_also_where_the_road_falls_to_its_middle(self):
        grade = self.make_grade(draw="{vehicles.car.motion.params.road.crown_deg: {uniform: [-0.5, -0.1]}}")
        self.grade("--world", grade, "--seeds", 2, "--method", "joint", "--out", "out")
        found, = json.loads((self.path / "out/summary.json").read_text())["grades"]
        last = found["times"][-1]["axes"]
        self.assertEqual(list(last), ["pitch", "yaw", "roll_repeatable", "roll_absolute"])
        for name, axis in last.items():
            self.assertEqual(found[f"drives_with_{name}_accepted_wrongly_at_any_time"], 0)
            self.assertLessEqual(axis["wrong"], axis["accepted"])
        self.assertEqual((last["pitch"]["accepted"], last["yaw"]["accepted"]), (2, 2))
        # One-sided, of two of two: the root of 0.05.
        self.assertAlmostEqual(last["pitch"]["recall_above"], 0.05 ** 0.5, places=6)
        with open(self.path / "out/chunks.csv", newline="") as rows:
            row = list(csv.DictReader(rows))[-1]
        self.assertLess(abs(float(row["roll_repeatable_error_deg"])), float(row["roll_repeatable_bound_deg"]))

    def test_a_kind_of_traffic_draws_values_of_its_own(self):
        mount = "vehicles.car.nodes.imu.mount.rpy_deg: {uniform: [[%s], [1, 2], [1, 2]]}"
        grade = self.make_grade(draw="{" + mount % "1, 2" + "}")
        with open(self.path / "mine.yaml", "a", encoding="utf-8") as more:
            more.write("kinds:\n  hills: {" + mount % "-2, -1" + "}\n")
        self.grade("--world", grade, "--drives", "rural,hills", "--seeds", 1, "--method", "joint", "--out", "out")
        with open(self.path / "out/chunks.csv", newline="", encoding="utf-8") as rows:
            true_roll_deg = {row["traffic"]: float(row["true_roll_deg"]) for row in csv.DictReader(rows)}
        self.assertGreaterEqual(true_roll_deg["rural"], 1)
        self.assertLessEqual(true_roll_deg["hills"], -1)
        with open(self.path / "mine.yaml", "a", encoding="utf-8") as more:
            more.write("  rural: 3\n")
        refused = self.grade("--world", grade, "--drives", "hills", "--seeds", 1, "--out", "other", code=1)
        self.assertIn("mine.yaml:6", refused.stderr)

    def check_against_the_server(self, grade, settings):
        self.grade("--world", grade, "--seeds", 1, "--first-seed", 77, "--method", "joint", "--out", "out")
        call(self.path, "run", "world.yaml", "--set", "seed=77", *settings, "--mode", "asap", "--for", "150s", "--quiet", "--csv",
             "car/calibration=live.csv")
        live = {row["t_ns"]: row for row in read_rows(self.path / "live.csv")}
        for row in read_rows(self.path / "out/chunks.csv")[:2]:
            world = live[str(int(float(row["minute"]) * 60e9))]
            for i, angle in enumerate(("roll", "pitch", "yaw")):
                self.assertAlmostEqual(float(row[f"{angle}_deg"]), float(world[f"rpy_deg.{i}"]), places=5)
            self.assertAlmostEqual(float(row["bound_roll_deg"]), float(world["bound_3sigma_deg.0"]), places=3)

    def test_it_goes_on_where_it_was_left_and_makes_the_same(self):
        grade = self.make_grade(draw="{vehicles.car.nodes.imu.mount.rpy_deg: {uniform: [[-10, 10], [-5, 5], [-5, 5]]}}")
        self.grade("--world", grade, "--seeds", 3, "--method", "joint", "--jobs", 2, "--out", "whole")
        self.grade("--world", grade, "--seeds", 2, "--method", "joint", "--jobs", 1, "--out", "parts")
        with open(self.path / "parts/chunks.csv", "a") as file:
            file.write("mine,own,1000002,joint,2.0,NOT_ACC")  # a call that was killed
        done = self.grade("--world", grade, "--seeds", 3, "--method", "joint", "--out", "parts")
        self.assertIn("2 drives were there already", done.stderr)
        self.assertEqual(sorted((self.path / "parts/chunks.csv").read_text().splitlines()),
                         sorted((self.path / "whole/chunks.csv").read_text().splitlines()))
        self.assertEqual((self.path / "parts/summary.json").read_text(), (self.path / "whole/summary.json").read_text())
        rolls = {row["true_roll_deg"] for row in read_rows(self.path / "whole/chunks.csv")}
        self.assertEqual(len(rolls), 3)
        self.assertTrue(all(abs(float(roll)) <= 10 for roll in rolls))
        refused = self.grade("--world", "harsh", "--seeds", 1, "--method", "joint", "--out", "parts", code=1)
        self.assertIn("another --out", refused.stderr)

    def test_what_it_does_not_know_is_refused(self):
        self.assertIn("tram", self.grade("--drives", "tram", "--out", "x", code=1).stderr)
        self.assertIn("magic", self.grade("--method", "magic", "--out", "x", code=1).stderr)
        self.assertIn("moon", self.grade("--world", "moon", "--out", "x", code=1).stderr)
        self.assertIn("is no grade", self.grade("--world", SOURCE / "configs/worlds/calibration_city.yaml", "--out", "x", code=1).stderr)
        bad = self.make_grade("bad", "{vehicles.car.nodes.imu.mount.rpy_deg: {gauss: [0, 1]}}")
        self.assertIn("bad.yaml:3", self.grade("--world", bad, "--seeds", 1, "--out", "x", code=1).stderr)
        (self.path / "bare.yaml").write_text("grade: bare\nworld: world.yaml\nset: [1]\ndraw: {}\n")
        self.assertIn("bare.yaml:3", self.grade("--world", "./bare.yaml", "--seeds", 1, "--out", "x", code=1).stderr)
        (self.path / "path.yaml").write_text("grade: path\nworld: world.yaml\nset: {vehicles.car.motion.params.path: curly}\ndraw: {}\n")
        refused = self.grade("--world", "./path.yaml", "--seeds", 1, "--out", "y", code=1).stderr
        self.assertIn("--set vehicles.car.motion.params.path", refused)
        self.assertIn("curly", refused)
        self.grade("--seeds", 0, "--out", "x", code=2)
        self.grade("--seeds", 1, code=2)


if __name__ == "__main__":
    unittest.main(verbosity=1)
