"""otolith estimate: estimators over logs as a user runs them, beside the world that the logs are of."""
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN, TEST_PLUGINS, PLUGINS, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(4))
OTOLITH = str(BIN / "otolith")
UDACITY = SOURCE.parent / "shared/data/motion/udacity_obj_pose_laser_radar.txt"
UDACITY_EKF = SOURCE / "configs/estimators/udacity_ekf.yaml"

WORLD = """
world: estimated
clock: {rate_hz: 1000, mode: asap}
publish: false
vehicles:
  - name: car
    motion: {plugin: motion_script, params: {}}
    nodes:
      - {name: ears, plugin: listener, rate_hz: 300, inputs: {main: motion, imu: imu, speed: odometer}}
      - {name: imu, plugin: mems_imu, rate_hz: 200, params: {gyroscope.noise_density_rad_s_rthz: 1e-4}}
      - {name: odometer, plugin: odometer, rate_hz: 50}
      - {name: second, plugin: listener, rate_hz: 7, inputs: {main: ears}}
"""


class Estimate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=self.folder.name,
                                OTOLITH_PLUGIN_PATH=f"{TEST_PLUGINS}:{PLUGINS}")
        self.environment.pop("OTOLITH_WORLD", None)

    def tearDown(self):
        self.folder.cleanup()

    def run_it(self, *arguments, code=0, **options):
        done = subprocess.run([OTOLITH, *map(str, arguments)], env=self.environment, capture_output=True, text=True,
                              timeout=300, cwd=self.path, **options)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def estimate(self, *arguments, code=0):
        return self.run_it("estimate", *arguments, code=code)

    def write(self, name, text):
        (self.path / name).write_text(text)
        return name

    def rows(self, name):
        with open(self.path / name, newline="") as file:
            return list(csv.DictReader(file))

    # ---- off line is on line ----

    def test_the_logs_of_a_world_give_its_estimates_to_the_last_digit(self):
        self.write("world.yaml", WORLD)
        topics = {"motion": "truth", "imu": "imu", "odometer": "speed", "ears": "ears", "second": "second"}
        self.run_it("run", "world.yaml", "--for", "2s", "--quiet", "--no-publish",
                    *(f"--csv=estimated/car/{topic}={name}.csv" for topic, name in topics.items()))
        self.estimate("--plugin", "listener", "--in", "main=truth.csv", "--in", "imu.csv", "--in", "speed.csv",
                      "--rate", "300", "--clock", "1000", "--from", "0", "--out", "again.csv")
        self.assertEqual(len(self.rows("ears.csv")), 600)
        self.assertEqual((self.path / "ears.csv").read_text(), (self.path / "again.csv").read_text())
        self.estimate("--plugin", "listener", "--in", "main=again.csv", "--rate", "7", "--clock", "1000", "--from", "0",
                      "--out", "second_again.csv")
        self.assertEqual((self.path / "second.csv").read_text(), (self.path / "second_again.csv").read_text())

    # ---- known results ----

    def test_the_udacity_set_has_the_published_errors_by_one_command(self):
        if not UDACITY.exists():
            self.skipTest(f"there is no {UDACITY}")
        done = self.estimate("--plugin", "ekf", "--params", UDACITY_EKF, "--in", UDACITY, "--out", "est.csv", "--json",
                             "--reference", UDACITY, "--compare", "position_enu_m.x=px", "--compare", "state:state.3=vy")
        account = json.loads(done.stdout)
        for state, wanted in {"x": 0.09723, "y": 0.08538, "vx": 0.45085, "vy": 0.43959}.items():
            self.assertAlmostEqual(account["rmse"][state], wanted, delta=0.5e-5)
        self.assertEqual(account["rmse_units"], {"x": "m", "y": "m", "vx": "m/s", "vy": "m/s"})
        self.assertEqual((account["samples"], account["truths"]), (1000, 500))
        first, second = account["compare"]
        self.assertAlmostEqual(first["rmse"], account["rmse"]["x"], delta=1e-12)
        self.assertAlmostEqual(second["rmse"], account["rmse"]["vy"], delta=1e-12)
        self.assertEqual(first["count"], 500)
        rows = self.rows("est.csv")
        self.assertEqual((len(rows), rows[0]["t_ns"]), (500, "1477010443000000000"))
        text = self.estimate("--plugin", "ekf", "--params", UDACITY_EKF, "--in", UDACITY).stdout
        self.assertRegex(text, r"(?m)^  vx +0\.4508\d+ +m/s$")

    def test_errors_of_the_navigation_are_told_by_state_and_unit(self):
        self.write("imu.csv", "t_s,ax,ay,az,gx,gy,gz\n" + "".join(f"{k / 100},0,0,9.80665,0,0,0\n" for k in range(101)))
        wrong = "1,2,3,0.1,0.2,0.3,0.9993,0.01,0.02,0.03"
        self.write("truth.csv", "t_s,position_enu_m.x,position_enu_m.y,position_enu_m.z,velocity_enu_m_s.x,velocity_enu_m_s.y,"
                   "velocity_enu_m_s.z,q_enu_from_body.w,q_enu_from_body.x,q_enu_from_body.y,q_enu_from_body.z\n"
                   + "".join(f"{k / 10},{wrong}\n" for k in range(1, 11)))
        common = ("--plugin", "ins_ekf", "--set", "align.from=given", "--in", "imu.csv", "--in", "truth.csv")
        account = json.loads(self.estimate(*common, "--json").stdout)
        parts = {"position_enu_m": "m", "velocity_enu_m_s": "m/s", "attitude_body_rad": "rad"}
        wanted = {f"{part}.{axis}": unit for part, unit in parts.items() for axis in "xyz"}  # biases have no truth
        self.assertEqual(account["rmse_units"], wanted)
        self.assertEqual(list(account["rmse"]), list(wanted))
        self.assertAlmostEqual(account["rmse"]["position_enu_m.z"], 3, delta=0.2)
        self.assertAlmostEqual(account["rmse"]["attitude_body_rad.z"], 0.06, delta=0.005)
        self.assertRegex(self.estimate(*common).stdout, r"(?m)^  velocity_enu_m_s\.y +0\.\d+ +m/s$")

    def test_one_log_of_a_tagged_file_may_be_asked_for(self):
        self.write("drive.txt", "L\t1\t2\t1000000\t1\t2\t0\t0\nR 1 0.5 0 1050000\n\nL 2 3 1100000 2 3 0 0 0.1 0.2\n")
        out = self.rows_of_listener("--in", "lidar=drive.txt", "--in", "main=lidar.csv")
        self.assertEqual([row["samples"] for row in out], ["2", "2"])
        out = self.rows_of_listener("--in", "drive.txt", "--in", "main=lidar.csv")
        self.assertEqual([row["samples"] for row in out], ["3", "1", "3"])

    def rows_of_listener(self, *arguments):
        self.write("lidar.csv", "t_s,v\n1,2\n1.1,3\n")
        self.estimate("--plugin", "listener", *arguments, "--out", "out.csv")
        return self.rows("out.csv")

    def test_the_smallest_estimator_is_the_filter_of_its_readme(self):
        self.write("speed.csv", "t_s,v_m_s\n0,4\n1,nan\n2,6\n")
        self.write("imu.csv", "t_s,ax,ay\n0.5,1,7\n1.5,-1,7\n")
        self.estimate("--plugin", "template_estimator", "--in", "speed.csv", "--in", "imu.csv", "--out", "est.csv")
        rows = self.rows("est.csv")
        self.assertEqual([float(row["speed_m_s"]) for row in rows[:4]], [4, 4, 4.5, 5])
        before = 0.1 ** 2 + 0.5 ** 2 * 2  # variance at 2 s, before the sample
        gain = before / (before + 0.1 ** 2)
        self.assertAlmostEqual(float(rows[4]["speed_m_s"]), 4.5 + gain * 1.5, delta=1e-12)
        self.assertAlmostEqual(float(rows[4]["speed_sigma_m_s"]), math.sqrt(gain * 0.1 ** 2), delta=1e-12)
        self.assertEqual([row["used"] for row in rows], ["1", "1", "1", "1", "2"])

    # ---- pipes ----

    def pipe(self, text):
        """The path of a pipe that holds the text, as a shell's <(command) gives; to be passed on by its number."""
        out, into = os.pipe()
        self.addCleanup(os.close, out)
        os.write(into, text.encode())
        os.close(into)
        return f"/dev/fd/{out}", out

    def test_logs_may_come_through_pipes(self):
        speed, imu = "t_s,v_m_s\n0,4\n1,5\n2,6\n", "t_s,ax,ay\n0.5,1,7\n1.5,-1,7\n"
        common = ("estimate", "--plugin", "template_estimator", "--out")
        self.run_it(*common, "files.csv", "--in", self.write("speed.csv", speed), "--in", self.write("imu.csv", imu))
        path, fd = self.pipe(imu)
        self.run_it(*common, "pipes.csv", "--in", "speed=/dev/stdin", "--in", f"imu={path}", input=speed, pass_fds=[fd])
        self.assertEqual((self.path / "pipes.csv").read_text(), (self.path / "files.csv").read_text())
        spent = self.run_it(*common, "pipes.csv", "--in", "speed=/dev/stdin", "--in", "imu=/dev/stdin", input=speed, code=1)
        self.assertIn("/dev/stdin:1:1: error: expected a header line", spent.stderr)

    def test_tagged_lines_and_a_reference_may_come_through_pipes(self):
        lines = "L 1 2 1000000 1 2 0 0\nR 1 0.5 0 1050000\nL 2 3 1100000 2 3 0 0\n"
        path, fd = self.pipe(lines)
        reference, reference_fd = self.pipe(lines)
        done = self.run_it("estimate", "--plugin", "listener", "--in", path, "--in", self.write("main.csv", "t_s,v\n1,2\n1.1,3\n"),
                           "--json", "--reference", reference, "--compare", "sum=px", pass_fds=[fd, reference_fd])
        account = json.loads(done.stdout)
        self.assertEqual((account["samples"], account["compare"][0]["count"]), (7, 3))

    def test_other_commands_read_pipes_too(self):
        rows = "t_s,ax,ay,az,gx,gy,gz\n" + "".join(f"{k / 100},0.1,{k % 3},9.8,0,0,{k % 5}\n" for k in range(200))
        speed = "t_s,v_m_s\n" + "".join(f"{k / 10},3\n" for k in range(20))
        self.write("imu.csv", rows)
        self.write("speed.csv", speed)
        for command in (("allan", "--column", "gz", "--json"), ("calibrate", "mount", "--json")):
            files = ("--imu", "imu.csv", "--speed", "speed.csv") if command[0] == "calibrate" else ("imu.csv",)
            path, fd = self.pipe(rows)
            pipes = ("--imu", path, "--speed", "/dev/stdin") if command[0] == "calibrate" else (path,)
            wanted = self.run_it(*command, *files).stdout.replace("imu.csv", "IMU")
            self.assertEqual(self.run_it(*command, *pipes, input=speed, pass_fds=[fd]).stdout.replace(path, "IMU"), wanted)
        path, fd = self.pipe("t_s\n0.01\n0.02\n0.03\n")
        sense = ("sense", "--plugin", "mems_imu", "--in", path, "--out", "samples.csv")
        self.assertIn("a pipe can be read but once", self.run_it(*sense, pass_fds=[fd], code=1).stderr)
        self.run_it(*sense, "--rate", "100", pass_fds=[fd])
        self.assertEqual(len(self.rows("samples.csv")), 3)

    # ---- comparison ----

    def test_a_reference_is_interpolated_and_angles_are_taken_round_the_circle(self):
        self.write("main.csv", "t_s,v\n0,0\n1,0\n2,0\n3,0\n")  # the sum of the estimator stays 0
        self.write("reference.csv", "t_s,a,b\n0.5,1,3.1\n2.5,3,-3.1\n")
        account = json.loads(self.estimate("--plugin", "listener", "--in", "main.csv", "--json", "--reference",
                                           "reference.csv", "--compare", "sum=a", "--compare-angle", "sum=b").stdout)
        line, circle = account["compare"]
        self.assertEqual(line["count"], 2)  # at 1 s and 2 s: there is no reference at 0 s and 3 s
        self.assertAlmostEqual(line["rmse"], math.sqrt((1.5 ** 2 + 2.5 ** 2) / 2))
        self.assertAlmostEqual(line["mean"], -2)
        self.assertAlmostEqual(line["max"], 2.5)
        self.assertLess(abs(abs(circle["max"]) - math.pi), 0.05)
        settled = json.loads(self.estimate("--plugin", "listener", "--in", "main.csv", "--json", "--settle", "1.5s",
                                           "--reference", "reference.csv", "--compare", "sum=a").stdout)
        self.assertEqual(settled["compare"][0]["count"], 1)

    # ---- refusals ----

    def refuse(self, *arguments, says, code=1):
        self.write("out.csv", "as before\n")
        done = self.estimate("--plugin", "listener", *arguments, "--out", "out.csv", code=code)
        self.assertIn(says, done.stderr)
        self.assertEqual((self.path / "out.csv").read_text(), "as before\n")
        self.assertEqual([name for name in os.listdir(self.path) if name.startswith("out.csv.")], [])

    def test_hostile_logs_are_refused_with_their_place_and_nothing_is_written(self):
        good = self.write("main.csv", "t_s,v\n0,1\n1,2\n")
        self.refuse("--in", self.write("main.csv", "t_s,v\n0,1\n1,x\n"), says="main.csv:3: error: row 2, column 'v': 'x'")
        self.refuse("--in", self.write("main.csv", "t_s,v\n1,1\n0,1\n"), says="main.csv:3: error: row 2: time decreases")
        self.refuse("--in", self.write("main.csv", "v\n1\n"), says="main.csv:1: error: there is no column of time")
        self.refuse("--in", self.write("main.csv", ""), says="main.csv:1:1: error: expected a header line")
        self.refuse("--in", self.write("main.csv", "t_s,v\n0,1\n1e9,2\n"), "--rate", "1000", says="time jumps from 0.0")
        self.refuse("--in", "imu=main.csv", says="needs the field 'angular_velocity.x'")
        self.refuse("--in", self.write("drive.txt", "L 1 2 3\nL 1 x 4\n"), "--in", good,
                    says="drive.txt:2: error: expected a number, got 'x'")
        self.refuse("--in", self.write("drive.txt", "L 1 2 3\nQ 1\n"), says="drive.txt:2: error: expected the tag L or R, got 'Q'")
        self.refuse("--in", self.write("drive.txt", "L 1 2 5\nL 1 2 4\n"), says="drive.txt:2: error: time decreases")
        self.refuse("--in", self.write("drive.txt", "L 1 2 5.5\n"), says="expected a time in whole microseconds")
        self.refuse("--in", "none.csv", says="none.csv: cannot be read")

    def test_a_step_that_fails_leaves_nothing_behind(self):
        self.write("main.csv", "t_s,v\n0,1\n1,2\n2,3\n")
        self.refuse("--in", "main.csv", "--set", "fail_at=2", says="estimator 'listener' failed at 1.000000000 s")

    def test_arguments_that_cannot_be_are_refused(self):
        self.write("main.csv", "t_s,v\n0,1\n1,2\n")
        self.refuse("--in", "main.csv", "--rate", "0", says="--rate is 0 Hz")
        self.refuse("--in", "main.csv", "--set", "gian=2", says="did you mean 'gain'")
        self.refuse("--in", "main.csv", "--mount", "main=1,2,3", says="--mount takes NAME=X,Y,Z,ROLL,PITCH,YAW")
        self.refuse("--in", "main.csv", "--mount", "mian=0,0,0,0,0,0", says="did you mean 'main'")
        self.refuse("--in", "main.csv", "--origin", "91,0", says="--origin takes LATITUDE")
        self.refuse("--in", "main.csv", "--reference", "main.csv", "--compare", "smu=v", says="did you mean 'sum'")
        self.refuse("--in", "main.csv", "--reference", "main.csv", "--compare", "sum=w", says="main.csv has no column 'w'")
        self.refuse("--in", "main.csv", "--compare", "sum=v", says="belong together", code=2)
        self.refuse(says="--plugin and --in are needed", code=2)
        closed = self.estimate("--plugin", "listener_closed", "--in", "noname=main.csv", code=1)
        self.assertIn("has no input 'noname'; its inputs: main, imu", closed.stderr)
        closed = self.estimate("--plugin", "listener_closed", "--in", self.write("some.csv", "t_s,v\n0,1\n"), code=1)
        self.assertIn("say which input of 'listener' it is", closed.stderr)
        self.assertIn("of the kind 'sensor'", self.estimate("--plugin", "mems_imu", "--in", "main.csv", code=1).stderr)

    def test_standard_output_carries_the_records_alone(self):
        self.write("main.csv", "t_s,v\n0,1\n1,2\n")
        done = self.estimate("--plugin", "listener", "--in", "main.csv", "--out", "-", "--json", "--mount",
                             "main=2,0,0,0,0,0", "--origin", "48,11,500", "--set", "loud=true", "--out", "loud=loud.csv")
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(lines[0].startswith("t_ns,seq,step,"))
        self.assertEqual(json.loads(done.stderr)["records"], 4)
        self.assertEqual([float(row["mount_x_m"]) for row in self.rows("loud.csv")], [2, 2])


if __name__ == "__main__":
    unittest.main(verbosity=2)
