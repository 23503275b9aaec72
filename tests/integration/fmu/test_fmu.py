"""FMUs as motions: truth, units, events, rejected steps, state, crashes, and zip files that are refused."""
import csv
import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import unittest
import zipfile

from fmu_case import MACHINE, PLATFORM, FmuCase, description, write_fmu

BIN, FMU2, FMU3, SOURCE, BUILD = (pathlib.Path(sys.argv.pop(1)) for _ in range(5))
FmuCase.program = str(BIN / "otolith")
FmuCase.binaries = {2: FMU2, 3: FMU3}
VERSIONS = (2, 3)
NORMAL, DISCARDS, CRASHES, FAILS, ENDS, RETURNS_EARLY, HANGS, NOT_FINITE = range(8)
RADIUS_M, RATE_RAD_S = 10.0, 0.5
REFERENCE = pathlib.Path(os.environ.get("OTOLITH_REFERENCE_FMUS", SOURCE.parent / "shared" / "data" / "reference_fmus"))


def angle(row):
    return RATE_RAD_S * row["t_ns"] * 1e-9


class Motion(FmuCase):
    def assert_circle(self, rows, tolerance=1e-9):
        for row in rows:
            self.assertAlmostEqual(row["position_enu_m.x"], RADIUS_M * math.cos(angle(row)), delta=tolerance)
            self.assertAlmostEqual(row["position_enu_m.y"], RADIUS_M * math.sin(angle(row)), delta=tolerance)
            self.assertAlmostEqual(row["velocity_enu_m_s.y"], RADIUS_M * RATE_RAD_S * math.cos(angle(row)), delta=tolerance)
            self.assertAlmostEqual(row["q_enu_from_body.z"], math.sin((math.pi / 2 + angle(row)) / 2), delta=tolerance)

    def test_truth_is_in_si_units_and_what_is_not_given_is_derived(self):
        for version in VERSIONS:
            rows, summary = self.run_world(self.world(self.fmu(version)))
            self.assertEqual(summary["ticks"], 500)
            self.assert_circle(rows)
            for row in rows[1:]:  # central differences of the velocity and of the attitude: error (w h)^2 / 6
                self.assertAlmostEqual(row["accel_enu_m_s2.x"], -RADIUS_M * RATE_RAD_S ** 2 * math.cos(angle(row)), delta=1e-6)
                self.assertAlmostEqual(row["angular_rate_body_rad_s.z"], RATE_RAD_S, delta=1e-9)

    def test_sensors_between_ticks_and_runs_again_give_the_same_bits(self):
        nodes = [{"name": "imu", "plugin": "mems_imu", "rate_hz": 300}]
        for version in VERSIONS:
            world = self.world(self.fmu(version), nodes=nodes)
            first = self.run_world(world)[1]["state_hash"]
            self.assertEqual(self.run_world(world)[1]["state_hash"], first)

    def test_start_values_are_set(self):
        for version in VERSIONS:
            rows, _ = self.run_world(self.world(self.fmu(version), radius=3, rate=0))
            self.assertTrue(all(row["position_enu_m.x"] == 3.0 for row in rows))

    def test_a_rejected_step_is_made_in_parts(self):
        for version in VERSIONS:
            self.assert_circle(self.run_world(self.world(self.fmu(version), mode=DISCARDS))[0])

    def test_early_return_and_events_are_handled(self):
        self.assert_circle(self.run_world(self.world(self.fmu(3), mode=RETURNS_EARLY))[0])

    @staticmethod
    def error_between_points(step_s):
        """The acceleration of the first point is wrong by h r w^3 / 2, which adds at most h / 10 of it to the velocity beside the point."""
        return step_s ** 2 * RADIUS_M * RATE_RAD_S ** 3 / 20

    def test_a_longer_communication_step_is_interpolated(self):
        for version in VERSIONS:
            rows, _ = self.run_world(self.world(self.fmu(version), step_s=0.01))
            self.assert_circle(rows, self.error_between_points(0.01))

    def test_a_fixed_internal_step_is_the_communication_step(self):
        """The fewest whole ticks that are a multiple: 2 of 1 ms for 0.4 ms, 37 for 0.37 ms."""
        for fixed_s, step_s in (("0.0004", 0.002), ("0.00037", 0.037)):
            fmu = self.fmu(3, description(3, extra=f'fixedInternalStepSize="{fixed_s}"'))
            self.assert_circle(self.run_world(self.world(fmu))[0], self.error_between_points(step_s))

    def test_a_checkpoint_continues_with_the_same_bits(self):
        for version in VERSIONS:
            world = self.world(self.fmu(version))
            expected = self.run_world(world)[1]["state_hash"]
            self.run_world(world, "--checkpoint", self.path / "part.ckpt", duration="0.2s")
            rest = self.run_world(world, "--restore", self.path / "part.ckpt", duration="0.3s")[1]
            self.assertEqual(rest["state_hash"], expected)

    def test_checkpoints_of_an_fmu_without_state_are_refused_with_a_sentence(self):
        for version in VERSIONS:
            world = self.world(self.fmu(version, description(version, saves="false")))
            self.assert_circle(self.run_world(world)[0])
            said = self.run_world(world, "--checkpoint", self.path / "none.ckpt", code=1)
            self.assertIn("cannot save its whole state", said)

    def test_the_directory_of_a_host_is_removed(self):
        self.run_world(self.world(self.fmu(3)))
        self.assertEqual(list(self.path.glob("otolith-host-*")), [])


class Failures(FmuCase):
    def assert_holds_after(self, rows, when_s):
        """From the failure on the vehicle holds its last truth. The FMU is one step ahead."""
        last = [row for row in rows if row["t_ns"] * 1e-9 < when_s - 0.0015][-1]
        held = rows[-1]
        self.assertAlmostEqual(held["position_enu_m.x"], last["position_enu_m.x"], delta=0.01)
        self.assertEqual({row["position_enu_m.x"] for row in rows[-100:]}, {held["position_enu_m.x"]})

    def test_a_failed_or_ended_fmu_is_quarantined_and_the_world_continues(self):
        for version in VERSIONS:
            for mode in (FAILS, ENDS, NOT_FINITE):
                rows, summary = self.run_world(self.world(self.fmu(version), mode=mode))
                self.assertEqual(summary["ticks"], 500, f"mode {mode}")
                self.assert_holds_after(rows, 0.1)

    @unittest.skipIf(str(BUILD) == "sanitized", "sanitizers answer deadly signals themselves")
    def test_a_crash_in_a_step_ends_only_its_host(self):
        for version in VERSIONS:
            rows, summary = self.run_world(self.world(self.fmu(version), mode=CRASHES))
            self.assertEqual(summary["ticks"], 500)
            self.assert_holds_after(rows, 0.1)

    def step_world(self, world, kills):
        """The truth of 500 ticks of a world in mode step, whose plugin host is killed between two ticks `kills` times."""
        table = self.path / "stepped.csv"
        self.server = subprocess.Popen([self.program, "run", world, "--mode", "step", "--quiet", f"--csv=car/motion={table}"],
                                       env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.until(lambda: self.call("ls", "--world", "test").returncode == 0, "the world")
        for _ in range(kills):
            self.otolith("step", 100, "--world", "test")
            host = json.loads(self.otolith("info", "car/motion", "--json", "--world", "test"))["plugin_host"]
            os.kill(host["pid"], signal.SIGKILL)
        self.otolith("step", 500 - 100 * kills, "--world", "test")
        self.server.terminate()
        self.server.wait(timeout=300)
        self.server = None
        return table.read_text()

    def test_a_killed_host_changes_no_bit(self):
        for version in VERSIONS:
            world = self.world(self.fmu(version))
            self.run_world(world)
            self.assertEqual(self.step_world(world, 2), (self.path / "truth.csv").read_text())

    def test_without_state_the_vehicle_ends_with_its_host(self):
        rows = self.step_world(self.world(self.fmu(3, description(3, saves="false"))), 1).splitlines()
        self.assertEqual(len(rows), 501)
        self.assertEqual(rows[-1].split(",")[2:5], rows[101].split(",")[2:5])


class Refusals(FmuCase):
    def assert_refused(self, fmu, *parts, **world):
        said = self.run_world(self.world(fmu, **world), code=1)
        for part in parts:
            self.assertIn(part, said)

    def test_units_of_another_dimension_or_unknown_ones_are_refused(self):
        for version in VERSIONS:
            fmu = self.fmu(version)
            self.assert_refused(fmu, "truth.position_x_m", "'kg'", "a unit that converts to m", truth={"position_x_m": "mass"})
            self.assert_refused(fmu, "'furlong'", "no BaseUnit", truth={"position_x_m": "strange"})
            self.assert_refused(fmu, "no variable 'speed'", truth={"position_x_m": "speed"})
            self.assert_refused(fmu, "of another type", truth={"position_x_m": "mode"})

    def test_incomplete_maps_and_unknown_start_values_are_refused(self):
        fmu = self.fmu(3)
        self.assert_refused(fmu, "no variable is mapped", truth={})
        self.assert_refused(fmu, "1 of q_w", truth={"position_x_m": "x", "q_w": "x"})
        self.assert_refused(fmu, "truth.position_x_m is not", truth={"velocity_x_m_s": "vx"})
        self.assert_refused(fmu, "start[0]", "'wheels'", wheels=4)
        self.assert_refused(fmu, "start[0]", "'x'", x=4)
        self.assert_refused(fmu, "step_s of 0.00033", step_s=0.00033 + 1e-9)

    def test_a_wrong_guid_is_refused_with_the_words_of_the_fmu(self):
        self.assert_refused(self.fmu(2, description(2, token="{another}")), "refuses to start", "wrong guid {another}")
        self.assert_refused(self.fmu(3, description(3, token="{another}")), "refuses to start", "wrong instantiation token")

    def test_descriptions_that_are_not_usable_are_refused(self):
        for version in VERSIONS:
            self.assert_refused(self.fmu(version, description(version, co_simulation=False)), "no FMU for co-simulation")
            self.assert_refused(self.fmu(version, description(version).replace("</ModelVariables>", "")), "modelDescription.xml:", "mismatched tag")
            self.assert_refused(self.fmu(version, description(version, doctype='<!DOCTYPE a [<!ENTITY b "c">]>')), "document type")
        self.assert_refused(self.fmu(2, description(2).replace('"2.0"', '"1.0"')), "2.0 and 3.0 are accepted")

    def test_hostile_and_damaged_zip_files_are_refused(self):
        for name in ("../outside", "resources/../../outside", "/tmp/outside", "resources\\..\\outside"):
            self.assert_refused(self.fmu(3, entries=[(name, "x")]), "would be unpacked elsewhere")
        self.assertFalse((self.path.parent / "outside").exists())
        none = write_fmu(self.path / "none.fmu", 3, None, entries=[("binaries/x86_64-windows/model.dll", "MZ")])
        self.assert_refused(none, "no binary for this platform", f"binaries/{MACHINE}-linux/model.so")
        text = write_fmu(self.path / "text.fmu", 3, None, entries=[(f"binaries/{PLATFORM[3]}/model.so", "no library")])
        self.assert_refused(text, "its binary cannot be loaded")
        foreign = write_fmu(self.path / "foreign.fmu", 2, FMU3)
        self.assert_refused(foreign, "does not export fmi2Instantiate")
        (self.path / "plain.fmu").write_text("no zip file")
        self.assert_refused(self.path / "plain.fmu", "cannot be opened")
        self.assert_refused(self.path / "absent.fmu", "cannot be opened", "No such file")
        with zipfile.ZipFile(self.path / "empty.fmu", "w") as archive:
            archive.writestr("readme.txt", "x")
        self.assert_refused(self.path / "empty.fmu", "contains no modelDescription.xml")
        cut = self.fmu(3).read_bytes()
        (self.path / "cut.fmu").write_bytes(cut[:len(cut) // 2])
        self.assert_refused(self.path / "cut.fmu", "cannot be opened")

    def test_files_of_more_than_a_gigabyte_are_refused_before_they_are_unpacked(self):
        fmu = self.path / "large.fmu"
        write_fmu(fmu, 3, FMU3, entries=[("resources/large", bytes(1 << 20))])
        raw = bytearray(fmu.read_bytes())
        at = raw.rindex(b"PK\x01\x02")  # the directory's entry of the last file: its size is 24 bytes behind
        raw[at + 24:at + 28] = (0x7fffffff).to_bytes(4, "little")
        fmu.write_bytes(raw)
        said = self.run_world(self.world(fmu), code=1)
        self.assertTrue("more than 1073741824 bytes" in said or "cannot be opened" in said, said)

    def test_a_program_that_runs_worlds_itself_refuses_the_fmu_with_a_sentence(self):
        spec = self.path / "spec.yaml"
        spec.write_text(f"sweep: test\nworld: {self.world(self.fmu(3))}\nduration_s: 0.1\nseeds: 1\n"
                        "metrics: [{name: x, channel: car/motion, field: position_enu_m.0, compute: [last]}]\n")
        done = self.call("sweep", spec, "--out", self.path / "out", "--quiet")
        told = done.stdout + done.stderr + "".join(file.read_text(errors="replace") for file in (self.path / "out").rglob("*") if file.is_file())
        self.assertIn("needs a plugin host, which only the server (otolithd) starts", told)


@unittest.skipUnless((REFERENCE / "2.0").is_dir(), f"no Reference FMUs in {REFERENCE} (OTOLITH_REFERENCE_FMUS)")
class Reference(FmuCase):
    """The FMUs of the Modelica Association, as built from github.com/modelica/Reference-FMUs: 2.0/NAME.fmu, 3.0/NAME.fmu, NAME_out.csv."""

    def compare(self, version, name, truth, column, field, step_s, duration, tolerance):
        world = self.world(REFERENCE / f"{version}.0" / f"{name}.fmu", truth=truth, rate_hz=1000, step_s=step_s)
        rows, _ = self.run_world(world, duration=duration)
        values = {round(row["t_ns"] * 1e-9, 9): row[field] for row in rows}
        compared = 0
        with open(REFERENCE / f"{name}_out.csv", encoding="utf-8") as file:
            for expected in csv.DictReader(file):
                at = round(float(expected["time"]), 9)
                if at in values:
                    self.assertAlmostEqual(values[at], float(expected[column]), delta=tolerance, msg=f"{name} {version} at {at}")
                    compared += 1
        self.assertGreater(compared, 10)

    def test_the_reference_fmus_give_their_reference_results(self):
        for version in VERSIONS:
            self.compare(version, "BouncingBall", {"position_z_m": "h", "velocity_z_m_s": "v"}, "h", "position_enu_m.z", 0.01, "3s", 1e-6)
            self.compare(version, "VanDerPol", {"position_x_m": "x0", "position_y_m": "x1"}, "x1", "position_enu_m.y", 0.01, "20s", 1e-6)
            self.compare(version, "Dahlquist", {"position_x_m": "x"}, "x", "position_enu_m.x", 0.1, "10s", 1e-6)

    def test_an_input_that_is_fed_through_is_a_start_value(self):
        world = self.world(REFERENCE / "3.0" / "Feedthrough.fmu", truth={"position_x_m": "Float64_continuous_output"},
                           Float64_continuous_input=4.5)
        self.assertEqual({row["position_enu_m.x"] for row in self.run_world(world)[0]}, {4.5})


if __name__ == "__main__":
    unittest.main(verbosity=2)
