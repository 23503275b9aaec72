"""otolith model as a new user types it; the reference tables of motion are fed as they are."""
import csv
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN, SOURCE = pathlib.Path(sys.argv.pop(1)), pathlib.Path(sys.argv.pop(1))
OTOLITH = str(BIN / "otolith")
GOLDEN = SOURCE / "tests" / "golden"
SHARED = SOURCE / ".." / "shared" / "data" / "golden_motion"
TABLES = {"catr": ("motion_catr.csv", "catr_golden.csv"), "ctrv": ("motion_ctrv.csv", "cvtr_golden.csv"),
          "constant_velocity": ("motion_linear.csv", "linear_golden.csv"),
          "constant_acceleration": ("motion_linear.csv", "linear_golden.csv"),
          "kinematic_bicycle": ("motion_kinematic_bicycle.csv", "kinematic_bicycle_golden.csv"),
          "linear_tyre": ("motion_linear_tyre.csv", "linear_tire_golden.csv")}


def model(*arguments, code=0):
    result = subprocess.run([OTOLITH, "model", *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert result.returncode == code, result.stderr
    return result


def rows(text):
    return list(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))


class Models(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-model-")
        self.path = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def write(self, name, text):
        (self.path / name).write_text(text)
        return self.path / name

    def check_table(self, name, table):
        wanted = [row for row in rows(table.read_text()) if row.get("model", name) == name]
        fed = self.write("states.csv", "\n".join(",".join(r) for r in [wanted[0], *(row.values() for row in wanted)]) + "\n")
        model("predict", "--model", name, "--in", fed, "--out", self.path / "next.csv", "--jacobian", "--derived")
        made = rows((self.path / "next.csv").read_text())
        self.assertEqual(len(made), len(wanted))
        states = [s["name"] for s in json.loads(model("info", name, "--json").stdout)["states"]]
        for want, got in zip(wanted, made):
            scale = max(1, *(abs(float(want[s + e])) for s in states for e in ("", "_next")))
            for state in states:
                self.assertLessEqual(abs(float(got[state]) - float(want[state + "_next"])), 1e-12 * scale)
            entries = [key for key in want if key.startswith("J_")]
            scale = max([1] + [abs(float(want[key])) for key in entries])
            for key in entries:
                self.assertLessEqual(abs(float(got[key]) - float(want[key])), 1e-12 * scale, key)

    def test_B2_to_B7_B19_B20_predict_meets_every_row_of_the_reference_tables(self):
        for name, (sample, table) in TABLES.items():
            self.check_table(name, GOLDEN / sample)
            if SHARED.exists():
                self.check_table(name, SHARED / table)

    def test_list_and_info_describe_every_model(self):
        listed = json.loads(model("list", "--json").stdout)
        self.assertEqual(len([m for m in listed if m["plugin"].startswith("motion_")]), 15)
        self.assertIn("linear_tyre ", model("list").stdout)
        info = json.loads(model("info", "catr", "--json").stdout)
        self.assertEqual([s["name"] for s in info["states"]], ["x", "y", "v", "a", "th", "w"])
        self.assertEqual(info["states"][5]["unit"], "rad/s")
        self.assertIn("front_stiffness_n_rad", model("info", "linear_tyre").stdout)
        self.assertEqual(len(json.loads(model("info", "parameter_estimator", "--set", "count=4", "--json").stdout)["states"]), 4)

    def test_B12_B21_a_rollout_is_the_prediction_again_and_again(self):
        out = rows(model("rollout", "--model", "cvtr", "--state", "0,0,0,10,0.5", "--steps", "100", "--dt", "100ms").stdout)
        self.assertEqual(len(out), 101)
        self.assertEqual(float(out[100]["t_s"]), 10)
        self.assertAlmostEqual(float(out[100]["x"]), 20 * math.sin(5), delta=1e-12)
        self.assertAlmostEqual(float(out[100]["y"]), 20 * (1 - math.cos(5)), delta=1e-12)
        back = rows(model("rollout", "--model", "ctrv", "--state", ",".join(out[100][k] for k in ("x", "y", "yaw", "v", "w")),
                          "--steps", "1", "--dt", "-10s").stdout)
        self.assertAlmostEqual(float(back[1]["x"]), 0, delta=1e-12)
        named = rows(model("rollout", "--model", "rigid_body_6dof", "--state", "wz=1", "--steps", "1", "--dt", "1s").stdout)
        self.assertAlmostEqual(float(named[1]["qz"]), math.sin(0.5), delta=1e-12)

    def test_the_output_of_one_prediction_feeds_the_next(self):
        first = self.write("a.csv", "dt_s,x,y,vx,vy,comment\n0.5,0,0,1,2,first\n-1,0,0,1,2,back\n")
        model("predict", "--model", "constant_velocity", "--in", first, "--out", self.path / "b.csv")
        model("predict", "--model", "cv", "--in", self.path / "b.csv", "--out", self.path / "c.csv")
        self.assertEqual((self.path / "c.csv").read_text(), "x,y,vx,vy,dt_s\n1,2,1,2,0.5\n-2,-4,1,2,-1\n")

    def test_bad_input_is_named_with_its_place_and_nothing_is_written(self):
        cases = [("x,y,vx,vy\n0,0,1,2\n", "dt_s"), ("x,y,vx,dt_s\n0,0,1,1\n", "'vy'"),
                 ("x,y,vx,vy,dt_s\n0,0,1,2,1\n0,0,nan,2,1\n", "bad.csv:3: error: row 2, column vx"),
                 ("x,y,vx,vy,dt_s\n0,0,1,2,soon\n", "column dt_s"), ("x,y,vx,vy,dt_s\n0,0,1,2,1e30\n", "9e9"),
                 ("x,y,vx,vy,dt_s\n0,0,1\n", "bad.csv:2"), ("x,y,vx,vy,dt_s\n1e308,0,1e308,0,1e9\n", "range of numbers")]
        for text, said in cases:
            result = model("predict", "--model", "cv", "--in", self.write("bad.csv", text), "--out", self.path / "o.csv", code=1)
            self.assertIn(said, result.stderr)
            self.assertEqual(sorted(os.listdir(self.path)), ["bad.csv"])
        header = "x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz,dt_s\n"
        bad = self.write("bad.csv", header + "0,0,0,0.9,0,0,0,0,0,0,0,0,0,1\n")
        self.assertIn("length 0.9", model("predict", "--model", "rigid_body_6dof", "--in", bad, "--out", "-", code=1).stderr)
        bad = self.write("bad.csv", "x,y,yaw,u,dt_s,delta\n0,0,0,1,1,3\n")
        self.assertIn("column delta", model("predict", "--model", "bicycle", "--in", bad, "--out", "-", code=1).stderr)
        self.assertIn("motion_catr", model("info", "cart", code=1).stderr)
        self.assertIn("did you mean 'predict'", model("predit", code=2).stderr)
        self.assertIn("5", model("rollout", "--model", "ctrv", "--state", "1,2", "--steps", "1", "--dt", "1s", code=1).stderr)

    def test_B22_a_trajectory_is_checked_against_the_model_and_a_target(self):
        trajectory = self.path / "t.csv"
        for name, state, target in (("cv", "0,0,3,4", "300,400"), ("ca", "0,0,3,4,1,1", "5000,5000"),
                                    ("ctrv", "0,0,0,10,0.05", "139,48,0.5"), ("catr", "0,0,10,1,0,0.05", "200,80,0.5")):
            model("rollout", "--model", name, "--state", state, "--steps", "99", "--dt", "100ms", "--out", trajectory)
            said = model("check", "--model", name, "--in", trajectory, "--target", target).stdout
            self.assertIn("feasible: yes", said)
            self.assertIn("approaches the target: yes", said)
            said = model("check", "--model", name, "--in", trajectory, "--target=-50,-10", code=1).stdout
            self.assertIn("not in row 2", said)
        lines = trajectory.read_text().splitlines()
        broken = lines[50].split(",")
        broken[3] = str(float(broken[3]) * 1.07)
        lines[50] = ",".join(broken)
        said = model("check", "--model", "catr", "--in", self.write("b.csv", "\n".join(lines) + "\n"), code=1).stdout
        self.assertIn("feasible: no, row 50: v is", said)
        model("check", "--model", "catr", "--in", self.path / "b.csv", "--tolerance", "60")
        self.assertIn("X,Y", model("check", "--model", "catr", "--in", trajectory, "--target", "1", code=1).stderr)

    def test_a_model_is_the_truth_of_a_vehicle(self):
        world = self.write("world.yaml", """
world: modeltruth
environment: {gravity: [0, 0, -9.80665]}
clock: {rate_hz: 1000, mode: asap}
vehicles:
  - name: car
    motion: {plugin: motion_catr, params: {initial: {v_m_s: 10, w_rad_s: 0.5, a_m_s2: 1}}}
    nodes: [{name: imu, plugin: mems_imu, rate_hz: 300}]
  - name: bicycle
    motion: {plugin: motion_kinematic_bicycle, params: {steering_rad: 0.1, initial: {u_m_s: 5}}}
    nodes: [{name: imu, plugin: mems_imu, rate_hz: 100}]
  - name: tyres
    motion: {plugin: motion_linear_tyre, params: {initial: {u_m_s: 15, delta_rad: 0.02}}}
    nodes: [{name: imu, plugin: mems_imu, rate_hz: 128}]
  - name: drone
    motion: {plugin: motion_rigid_body_6dof, params: {gravity_enu_m_s2: [0, 0, -9.80665], force_body_n: [0, 0, 9.80665]}}
    nodes: [{name: imu, plugin: mems_imu, rate_hz: 200}]
""")
        summary = self.path / "summary.json"
        environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.path))
        subprocess.run([OTOLITH, "run", str(world), "--for", "4s", "--summary", str(summary)], check=True, timeout=300,
                       capture_output=True, env=environment)
        topics = json.loads(summary.read_text())["topics"]
        last = {name: topics[f"modeltruth/{name}/imu"]["last"] for name in ("car", "bicycle", "tyres", "drone")}

        def field(name, *keys):
            value = last[name]
            for key in keys:
                value = value[key] if key in value else value[".".join(keys)]
                if not isinstance(value, dict):
                    return value
            return value

        self.assertAlmostEqual(field("car", "angular_velocity", "z"), 0.5, places=12)
        self.assertAlmostEqual(field("car", "linear_acceleration", "x"), 1, places=9)
        self.assertAlmostEqual(field("car", "linear_acceleration", "y"), 0.5 * 14, places=9)
        self.assertGreater(field("bicycle", "angular_velocity", "z"), 0.1)
        understeer = 1500 / 2.7 * (1.5 / 80000 - 1.2 / 90000)
        self.assertAlmostEqual(field("tyres", "angular_velocity", "z"), 15 * 0.02 / (2.7 + understeer * 225), places=6)
        self.assertAlmostEqual(field("drone", "linear_acceleration", "z"), 9.80665, places=9)


if __name__ == "__main__":
    unittest.main(verbosity=2)
