"""otolith export fmu: a sensor as an FMU gives, driven by the truth of a world, that world's samples to the last bit."""
import csv
import os
import pathlib
import shutil
import subprocess
import sys
import unittest
import zipfile

from fmu_case import MACHINE, FmuCase
from fmi3_rules import broken_rules

BIN, DRIVE, SOURCE, CAR = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(4))
FmuCase.program = str(BIN / "otolith")
SCHEMA = pathlib.Path(os.environ.get("OTOLITH_FMI_SCHEMA", SOURCE.parent / "shared" / "data" / "fmi3_schema")) / "fmi3ModelDescription.xsd"
AXES = [f"{vector}.{axis}" for vector in ("position_enu_m", "velocity_enu_m_s", "accel_enu_m_s2") for axis in "xyz"]
TRUTH = AXES + [f"q_enu_from_body.{axis}" for axis in "wxyz"] + \
    [f"{vector}.{axis}" for vector in ("angular_rate_body_rad_s", "angular_accel_body_rad_s2") for axis in "xyz"]
WORLD = """
world: test
seed: 11
clock: {rate_hz: 1000, mode: asap}
publish: false
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 200, part: bosch/bmi270, unit: 3, mount: {position_m: [0.2, 0, 0.4]}}
      - {name: mag, plugin: magnetometer, rate_hz: 50}
      - {name: slow, plugin: mount_calibration, rate_hz: 7, inputs: {imu: imu, speed: odo}}
      - {name: odo, plugin: odometer, rate_hz: 100}
  - {name: fleet, count: 2, motion: {plugin: motion_script}, nodes: [{name: imu, plugin: mems_imu}]}
"""


class Export(FmuCase):
    def setUp(self):
        super().setUp()
        self.world_file = self.path / "world.yaml"
        self.world_file.write_text(WORLD)

    def export(self, node="car/imu", name="sensor.fmu"):
        self.otolith("export", "fmu", self.world_file, node, self.path / name)
        return self.path / name

    def drive(self, fmu, rows, outputs, **environment):
        """The outputs after each step, as numbers."""
        directory = self.path / f"unpacked{len(list(self.path.glob('unpacked*')))}"
        directory.mkdir()
        text = "".join(",".join(row[name] for name in TRUTH) + "\n" for row in rows)
        done = subprocess.run([DRIVE, fmu, directory, "0.001", *outputs], input=text, capture_output=True, text=True,
                              env=dict(self.environment, **environment), timeout=self.timeout_s)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [list(map(float, line.split(","))) for line in done.stdout.splitlines()]

    def run_whole_world(self, node):
        truth, samples = self.path / "truth.csv", self.path / "samples.csv"
        self.otolith("run", self.world_file, "--quiet", "--for", "1s", f"--csv=car/motion={truth}", f"--csv=car/{node}={samples}")
        return [list(csv.DictReader(file.read_text().splitlines())) for file in (truth, samples)]

    def test_its_samples_are_those_of_the_world_to_the_last_bit(self):
        fields = {"imu": ["linear_acceleration.x", "linear_acceleration.z", "angular_velocity.y", "angular_velocity.z"],
                  "mag": ["magnetic_field.x", "magnetic_field.z"]}
        for node, names in fields.items():
            truth, samples = self.run_whole_world(node)
            driven = self.drive(self.export(f"car/{node}"), truth, names)
            self.assertGreater(len(samples), 40)
            for sample in samples:
                tick = int(sample["t_ns"]) // 1000000 - 1
                self.assertEqual(driven[tick], [float(sample[name]) for name in names], f"{node} at {sample['t_ns']}")

    def test_its_state_is_saved_and_restored(self):
        truth, _ = self.run_whole_world("imu")
        names = ["linear_acceleration.x", "angular_velocity.z"]
        whole = self.drive(self.export(), truth, names)
        parts = self.drive(self.export(), truth, names, SAVE="300")
        self.assertEqual(parts, whole + whole[300:])

    def test_it_is_the_same_each_time_and_complete(self):
        first, second = self.export(name="a.fmu"), self.export(name="b.fmu")
        self.assertEqual(first.read_bytes(), second.read_bytes())
        with zipfile.ZipFile(first) as archive:
            names = set(archive.namelist())
            text = archive.read("modelDescription.xml").decode()
        self.assertLessEqual({f"binaries/{MACHINE}-linux/car_imu.so", "resources/world.yaml", "resources/sensor.so", "resources/part.yaml"}, names)
        self.assertIn('<Float64 name="linear_acceleration.x"', text)
        self.assertEqual([path for path in self.path.iterdir() if path.name.startswith("otolith-export")], [])

    @staticmethod
    def description_of(fmu):
        with zipfile.ZipFile(fmu) as archive:
            return archive.read("modelDescription.xml").decode()

    def test_the_descriptions_keep_the_rules_of_the_standard(self):
        for fmu in (CAR, *(self.export(f"car/{node}") for node in ("imu", "mag", "odo"))):
            self.assertEqual(broken_rules(self.description_of(fmu)), [], fmu)

    def test_the_check_of_the_rules_finds_what_breaks_them(self):
        text = self.description_of(self.export())
        for old, new, rule in (('valueReference="2"', 'valueReference="1"', "valueReference 1 twice"), (' start="0"', "", "without start"),
                               ("    <Output valueReference=\"100\"/>\n", "", "outputs"), ('unit="m/s"', 'unit="knot"', "unit 'knot'"),
                               ('variability="discrete"', 'variability="slow"', "variability 'slow'"), ("<Float64 ", "<Real ", "element Real"),
                               ("<DefaultExperiment ", "<Experiment ", "element Experiment"), (' modelIdentifier=', ' name=', "modelIdentifier"),
                               ('causality="input"', 'causality="input" colour="red"', "colour")):
            self.assertIn(old, text)
            self.assertTrue(any(rule in broken for broken in broken_rules(text.replace(old, new, 1))), rule)

    @unittest.skipUnless(SCHEMA.is_file() and shutil.which("xmllint"), f"no schema of FMI 3.0 at {SCHEMA} (OTOLITH_FMI_SCHEMA), or no xmllint")
    def test_the_description_is_valid_by_the_schema_of_the_standard(self):
        for fmu in (CAR, *(self.export(f"car/{node}") for node in ("imu", "mag", "odo"))):
            (self.path / "description.xml").write_text(self.description_of(fmu))
            done = subprocess.run(["xmllint", "--noout", "--nonet", "--schema", SCHEMA, self.path / "description.xml"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_wrong_token_and_what_cannot_be_exported_are_refused_with_a_sentence(self):
        fmu = self.export()
        with zipfile.ZipFile(fmu) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        files["resources/token"] = b"{another}"
        with zipfile.ZipFile(fmu, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        (self.path / "here").mkdir()
        done = subprocess.run([DRIVE, fmu, self.path / "here", "0.001", "angular_velocity.z"], capture_output=True, text=True, input="", env=self.environment)
        self.assertIn("the instantiationToken is not that of this FMU", done.stderr)
        for node, sentence in (("car/slow", "an estimator is not exported"), ("car/gnss", "names no sensor 'car/gnss'"), ("fleet/imu", "with `count` is not exported")):
            self.assertIn(sentence, self.otolith("export", "fmu", self.world_file, node, self.path / "none.fmu", code=1))
        self.assertIn("are accepted", self.otolith("export", "fmu", self.world_file, code=2))


if __name__ == "__main__":
    unittest.main(verbosity=2)
