"""libsdformat reads what `otolith sdf export` writes, without an error, and understands the same numbers."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BIN, SOURCE, VALIDATOR = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
if VALIDATOR == "missing":
    print("skipped: CMake found no libsdformat 12 (package libsdformat-dev), or this is a sanitized build")
    sys.exit(77)
del sys.argv[1:]


def understood(path):
    """As libsdformat sees it; a relative name would be taken for one of its own schemas."""
    done = subprocess.run([VALIDATOR, str(pathlib.Path(path).resolve())], capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


class Validated(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-sdf-")
        self.path = pathlib.Path(self.directory.name)

    def tearDown(self):
        self.directory.cleanup()

    def otolith(self, *arguments):
        done = subprocess.run([os.path.join(BIN, "otolith"), *map(str, arguments)], capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_C23_the_exported_world_is_valid_and_has_its_numbers(self):
        exported = self.path / "imu.sdf"
        self.otolith("sdf", "export", SOURCE / "configs/worlds/unity_imu.yaml", "--out", exported)
        code, out, err = understood(exported)
        self.assertEqual(code, 0, err)
        lines = [line.split() for line in out.splitlines()]
        self.assertEqual(lines[0], ["imu_sensor", "100", "/unity/imu"])
        self.assertEqual(lines[9], ["noisy", "25", "/unity/noisy"])
        self.assertEqual(lines[10], ["localization", "ENU"])
        self.assertEqual([lines[12][1]] + [float(x) for x in lines[12][2:]],
                         ["gaussian", 0, 0.017, 0.1, 0.001, 0, 0, 0])
        self.assertEqual([lines[17][1]] + [float(x) for x in lines[17][2:]],
                         ["gaussian_quantized", 0, 3e-4, 0, 0, 2e-5, 400, 1e-4])

    def test_C23_every_property_survives_as_libsdformat_reads_it(self):
        original = SOURCE / "configs/sensors/unity_imu.sdf"
        self.otolith("sdf", "import", original, "--out", self.path / "world.yaml")
        self.otolith("sdf", "export", self.path / "world.yaml", "--out", self.path / "again.sdf")
        before, after = understood(original), understood(self.path / "again.sdf")
        self.assertEqual(before[0], 0, before[2])
        self.assertEqual(after[0], 0, after[2])
        self.assertEqual(before[1], after[1])

    def test_the_judge_does_judge(self):
        bad = self.path / "bad.sdf"
        text = (SOURCE / "configs/sensors/unity_imu.sdf").read_text()
        bad.write_text(re.sub(r"<stddev>0.0003</stddev>", "<stddev>abc</stddev>", text))
        self.assertNotEqual(understood(bad)[0], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
