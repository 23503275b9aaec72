#!/usr/bin/python3
"""
usage: test_wheel.py SOURCE_DIR SIM_LIBRARY

The Python package as a wheel, built by Debian's setuptools without a network: it is complete, and what it installs runs a world.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

SOURCE, SIM_LIBRARY = pathlib.Path(sys.argv[1]), sys.argv[2]
BUILD = "import sys; from setuptools.build_meta import build_wheel; print(build_wheel(sys.argv[1]))"
RUN = """
import sys, otolith
with otolith.Sim(sys.argv[1]) as sim:
    print(otolith.__file__, otolith.__version__, len(sim.step(100)["car/imu"]))
"""


class Wheel(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="otolith-wheel-")
        self.path = pathlib.Path(self.folder.name)

    def tearDown(self):
        self.folder.cleanup()

    def run_python(self, code, *arguments, **environment):
        done = subprocess.run(["/usr/bin/python3", "-c", code, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              cwd=self.path / "package", env=dict(os.environ, **environment))
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_built_wheel_is_complete_and_runs_a_world(self):
        try:
            import setuptools  # noqa: F401
            import wheel  # noqa: F401
        except ImportError:
            self.skipTest("there is no python3-setuptools or python3-wheel")
        shutil.copytree(SOURCE / "clients/python", self.path / "package", ignore=shutil.ignore_patterns("__pycache__", "build"))
        name = self.run_python(BUILD, self.path).split()[-1]
        with zipfile.ZipFile(self.path / name) as archive:
            names = {entry for entry in archive.namelist() if entry.startswith("otolith/")}
            archive.extractall(self.path / "site")
        expected = {f"otolith/{file.name}" for file in (SOURCE / "clients/python/otolith").iterdir() if file.is_file()}
        self.assertEqual(names, expected)
        self.assertIn("otolith/py.typed", names)
        shutil.rmtree(self.path / "package")
        (self.path / "package").mkdir()
        line = self.run_python(RUN, SOURCE / "configs/worlds/minimal.yaml", PYTHONPATH=str(self.path / "site"),
                               OTOLITH_SIM_LIBRARY=SIM_LIBRARY).split()
        self.assertTrue(line[0].startswith(str(self.path / "site")), line)
        self.assertEqual(line[2], "10")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
