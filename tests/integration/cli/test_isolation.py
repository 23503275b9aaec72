"""Nodes in plugin hosts: the run is the one without, to the last bit, for every kind of node; what makes no sense is refused."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
OTOLITH = str(BIN / "otolith")
WORLDS = SOURCE / "configs" / "worlds"


def isolated(*nodes, how="process"):
    return [f"--set=vehicles.car.nodes.{node}.isolation={how}" for node in nodes]


class Isolation(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-apart-")
        self.path = pathlib.Path(self.directory.name)
        os.chmod(self.path, 0o700)
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.path), TMPDIR=str(self.path))
        self.environment.pop("OTOLITH_WORLD", None)

    def tearDown(self):
        self.directory.cleanup()

    def otolith(self, *arguments, code=0):
        done = subprocess.run([OTOLITH, *map(str, arguments)], env=self.environment, capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, code, f"otolith {arguments}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def run_world(self, world, *options):
        summary = self.path / "summary.json"
        self.otolith("run", WORLDS / world, "--set=clock.mode=asap", "--set=publish=false", "--quiet", "--summary", summary,
                     *options)
        return json.loads(summary.read_text())

    def test_estimators_give_the_same_bits(self):
        for world, nodes in (("estimator.yaml", ("ekf", "ins")), ("mount_calibration.yaml", ("calibration",))):
            expected = self.run_world(world, "--for", "5s")
            for how in ("process", "{process: lab}"):
                summary = self.run_world(world, "--for", "5s", *isolated(*nodes, how=how))
                self.assertEqual(summary["state_hash"], expected["state_hash"], f"{world} {how}")

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
