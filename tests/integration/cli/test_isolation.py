"""Isolated nodes: the samples are bit-identical to those of nodes in the server, for every kind of node; invalid options are refused."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
OTOLITH = str(BIN / "otolith")
WORLDS = SOURCE / "configs" / "worlds"

# A motion that evaluates any instant and one that integrates its steps; sensors that read earlier truths of both.
MOVING = """
world: moving
seed: 5
clock: {rate_hz: 1000, mode: asap}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 300, params: {band_limit_hz: 50}}
      - {name: odo, plugin: odometer, rate_hz: 100, params: {delay_ms: 10}}
      - {name: slow, plugin: mount_calibration, rate_hz: 7, inputs: {imu: imu, speed: odo}}
  - name: van
    motion: {plugin: motion_catr, params: {initial: {v_m_s: 3, w_rad_s: 0.1}}}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 300, params: {band_limit_hz: 50}}
      - {name: sdf, plugin: sdf_imu, rate_hz: 50}
publish: false
"""
APART = ("vehicles.car.motion", "vehicles.van.motion")


def isolated(*nodes, how="process"):
    paths = [node if "." in node else f"vehicles.car.nodes.{node}" for node in nodes]
    return [f"--set={path}.isolation={how}" for path in paths]


class Isolation(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-apart-")
        self.path = pathlib.Path(self.directory.name)
        os.chmod(self.path, 0o700)
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.path), TMPDIR=str(self.path))
        self.environment.pop("OTOLITH_WORLD", None)
        self.moving = self.path / "moving.yaml"
        self.moving.write_text(MOVING)

    def tearDown(self):
        self.directory.cleanup()

    def otolith(self, *arguments, code=0):
        done = subprocess.run([OTOLITH, *map(str, arguments)], env=self.environment, capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, code, f"otolith {arguments}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def run_world(self, world, *options):
        summary = self.path / "summary.json"
        self.otolith("run", WORLDS / world, "--set=clock.mode=asap", "--set=publish=false", "--quiet", "--summary", summary,
                     *options)
        return json.loads(summary.read_text())

    def test_motions_give_the_same_bits(self):
        expected = self.run_world(self.moving, "--for", "3s")
        for how in ("process", "{process: road}"):
            self.assertEqual(self.run_world(self.moving, "--for", "3s", *isolated(*APART, how=how))["state_hash"],
                             expected["state_hash"], how)
        everything = isolated(*APART, how="{process: road}") + isolated("imu", "odo", how="{process: sensors}") + \
            isolated("slow") + isolated("vehicles.van.nodes.imu")
        self.assertEqual(self.run_world(self.moving, "--for", "3s", *everything)["state_hash"], expected["state_hash"])

    def test_a_checkpoint_goes_on_with_motions_wherever_they_run(self):
        expected = self.run_world(self.moving, "--for", "3s")["state_hash"]
        for before, after in ((APART, APART), (APART, ()), ((), APART)):
            file = self.path / "part.ckpt"
            self.run_world(self.moving, "--for", "1.2s", "--checkpoint", file, *isolated(*before))
            rest = self.run_world(self.moving, "--for", "1.8s", "--restore", file, *isolated(*after))
            self.assertEqual(rest["state_hash"], expected, f"{before} {after}")

    def test_samples_that_wait_for_the_next_tick_are_in_the_checkpoint(self):
        later = isolated("slow", how="{process: later, mode: async}") + isolated("imu", "odo", how="{process: too, mode: async}")
        expected = self.run_world(self.moving, "--for", "2s", *later)["state_hash"]
        file = self.path / "part.ckpt"
        for part in ("1s", "1.143s"):  # at the second the estimator's estimate waits: 8/7 s
            self.run_world(self.moving, "--for", part, "--checkpoint", file, *later)
            rest = f"{2 - float(part[:-1]):.3f}s"
            self.assertEqual(self.run_world(self.moving, "--for", rest, "--restore", file, *later)["state_hash"], expected)

    def test_the_log_of_a_run_is_replayed_to_the_same_bits(self):
        everything = isolated(*APART, how="{process: road}") + isolated("imu", "odo", how="{process: sensors}") + \
            isolated("slow")
        first, second = self.path / "first.log", self.path / "second.log"
        self.run_world(self.moving, "--for", "1.5s", "--log", first, "--log-hashes", "50", *everything)
        self.otolith("run", "--replay", first, "--quiet", "--mode", "asap", "--log", second)
        seen = json.loads(self.otolith("verify", first, second, "--json"))
        self.assertTrue(seen["same"])
        self.assertGreater(seen["compared"], 20)

    def test_a_running_world_names_the_hosts_of_every_kind_and_sets_their_parameters(self):
        self.moving.write_text(MOVING.replace("motion_catr, params: {initial: {v_m_s: 3, w_rad_s: 0.1}}",
                                              "motion_kinematic_bicycle, params: {initial: {u_m_s: 3}}"))
        server = subprocess.Popen([str(BIN / "otolithd"), str(self.moving), "--mode", "step",
                                   *isolated("vehicles.van.motion", "slow")], env=self.environment, stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait, timeout=300)
        self.addCleanup(server.terminate)
        deadline = time.monotonic() + 300
        while subprocess.run([OTOLITH, "ls", "--world", "moving"], env=self.environment, capture_output=True,
                             timeout=300).returncode != 0:
            self.assertIsNone(server.poll())
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.otolith("step", 100)
        hosts = {node: json.loads(self.otolith("info", f"moving/{node}", "--json"))["plugin_host"]
                 for node in ("van/motion", "car/slow")}
        for node, host in hosts.items():
            self.assertEqual(host["name"], node)
        self.otolith("set", "van/motion", "accel_m_s2", "2")
        self.otolith("step", 1000)
        after = json.loads(self.otolith("info", "moving/van/motion", "--json"))["plugin_host"]
        self.assertNotEqual(after["pid"], hosts["van/motion"]["pid"])
        self.assertIn("where motions are not swapped", self.otolith("swap", "van/motion", "motion_script", code=1))

    def test_a_motion_that_cannot_be_a_tick_late_is_refused_at_its_place(self):
        self.moving.write_text(MOVING.replace("{plugin: motion_script}",
                                              "{plugin: motion_script, isolation: {process: road, mode: async}}"))
        told = self.otolith("check", self.moving, code=1)
        self.assertIn(f"{self.moving}:7:", told)
        self.assertIn("the sensors of a tick need its truth in that tick", told)

    def test_a_participant_is_not_isolated(self):
        self.moving.write_text(MOVING.replace("{plugin: motion_script}", "{participant: physics, isolation: process}"))
        told = self.otolith("check", self.moving, code=1)
        self.assertIn(f"{self.moving}:7:", told)
        self.assertIn("a participant gives the truth here", told)

    def test_a_checkpoint_goes_on_in_plugin_hosts(self):
        apart = isolated("imu", how="{process: sensors}") + isolated("ekf", "ins", how="{process: filters}")
        expected = self.run_world("estimator.yaml", "--for", "4s")
        file = self.path / "part.ckpt"
        self.run_world("estimator.yaml", "--for", "1.5s", "--checkpoint", file, *apart)
        rest = self.run_world("estimator.yaml", "--for", "2.5s", "--restore", file, *apart)
        self.assertEqual(rest["state_hash"], expected["state_hash"])

    def test_a_host_is_of_one_kind_and_says_where_it_is_not(self):
        told = self.otolith("check", WORLDS / "estimator.yaml", *isolated("imu", "ekf", how="{process: lab}"), code=1)
        self.assertIn("is one of the estimators, and plugin host 'lab' runs sensors", told)


if __name__ == "__main__":
    unittest.main()
