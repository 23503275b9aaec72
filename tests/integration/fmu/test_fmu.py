"""FMUs as motions: truth, units, events, rejected steps, state, crashes, and zip files that are refused."""
import csv
import json
import math
import os
import pathlib
import subprocess
import sys
import unittest
import zipfile

from fmu_case import MACHINE, PLATFORM, FmuCase, description, write_fmu

BIN, FMU2, FMU3, SOURCE, BUILD, GIVE, CAR = (pathlib.Path(sys.argv.pop(1)) for _ in range(7))
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


class Arrays(FmuCase):
    """FMI 3.0."""

    def test_elements_of_arrays_and_aliases_are_variables(self):
        truth = {"position_x_m": "east", "position_y_m": "vector[3]", "position_z_m": "vector[1]"}
        rows, _ = self.run_world(self.world(self.fmu(3), truth=truth, **{"offsets[2,1]": 0.25, "offsets[2,3]": 7, "offsets[1,1]": 9}))
        for row in rows:
            self.assertAlmostEqual(row["position_enu_m.x"], RADIUS_M * math.cos(angle(row)), delta=1e-9)
            self.assertEqual((row["position_enu_m.y"], row["position_enu_m.z"]), (10.0, 1.25))

    def test_what_is_no_single_number_is_refused_with_a_sentence(self):
        for name, sentence in (("vector", "is no element of the array of 3 numbers (1 dimensions)"), ("vector[4]", "is no element of the array of 3"),
                               ("vector[0]", "no variable 'vector[0]'"), ("vector[1,1]", "is no element of the array of 3"),
                               ("cube[1]", "an array whose size the FMU's description does not give"), ("x[1]", "no variable 'x[1]'")):
            said = self.run_world(self.world(self.fmu(3), truth={"position_x_m": name}), code=1)
            self.assertIn(sentence, said)
        self.assertIn("no variable 'x[1]'", self.run_world(self.world(self.fmu(2), truth={"position_x_m": "x[1]"}), code=1))


class Controls(FmuCase):
    INPUTS = [{"variable": "push", "control": 1, "scale": 2, "offset": 1}, {"variable": "gear", "control": 3}]

    def drive(self, *parts):
        done = subprocess.run([GIVE, "test", "driver", *parts], env=self.environment, capture_output=True, text=True, timeout=self.timeout_s)
        self.assertEqual(done.returncode, 0, done.stderr)

    def table(self):
        lines = (self.path / "driven.csv").read_text().splitlines()
        return [dict(zip(lines[0].split(","), map(float, line.split(",")))) for line in lines[1:]]

    def start(self, version, inputs=None, *options, **world):
        self.start_world(self.world(self.fmu(version), truth={"position_x_m": "x", "position_y_m": "y"}, inputs=inputs or self.INPUTS, rate=0, **world),
                         f"--csv=car/motion={self.path / 'driven.csv'}", "--log", self.path / "driven.log", *options)

    def test_controls_are_inputs_one_communication_step_later_and_a_replay_has_the_same_bits(self):
        for version in VERSIONS:
            self.start(version)
            self.drive("100:0,0,0", "100:0.5,0,3", "100:-0.5,0,-2.6")
            self.end_world()
            rows = self.table()
            values = [(rows[tick]["position_enu_m.x"], round(rows[tick]["position_enu_m.y"], 9)) for tick in (50, 150, 250)]
            self.assertEqual(values, [(11.0, 0.0), (12.0, 3.0), (10.0, -3.0)])  # x = 10 + 1 + 2 control 1; y = control 3, rounded to the type
            self.assertEqual(rows[99]["position_enu_m.x"], 11.0)
            self.assertEqual([rows[tick]["position_enu_m.x"] for tick in (102, 103)], [12.0, 12.0])
            self.otolith("run", "--replay", self.path / "driven.log", "--mode", "asap", "--log", self.path / "again.log", "--quiet")
            self.otolith("verify", self.path / "driven.log", self.path / "again.log")
            (self.path / "again.log").unlink()
            (self.path / "driven.log").unlink()

    def test_an_element_of_an_array_follows_a_control(self):
        self.start(3, [{"variable": "offsets[2,2]", "control": 2}, {"variable": "push", "control": 1}])
        self.end_world()
        world = json.loads((self.path / "world.yaml").read_text())
        world["vehicles"][0]["motion"]["params"]["truth"] = {"position_x_m": "vector[2]"}
        (self.path / "world.yaml").write_text(json.dumps(world))
        self.start_world(self.path / "world.yaml", f"--csv=car/motion={self.path / 'driven.csv'}")
        self.drive("20:0,0.5", "20:0,4")
        self.end_world()
        self.assertEqual([self.table()[tick]["position_enu_m.x"] for tick in (15, 35)], [2.5, 6.0])

    def test_a_host_that_is_killed_ten_times_and_a_driver_that_rejoins_lose_no_control(self):
        for version in VERSIONS:
            self.start(version)
            for part in range(10):
                self.drive(f"20:{part / 8},0,{part}")
                self.kill_host()
            self.drive("20:2,0,0")
            self.end_world()
            rows = self.table()
            self.assertEqual(len(rows), 220)
            self.assertEqual([rows[20 * part + 10]["position_enu_m.x"] for part in range(10)], [11 + part / 4 for part in range(10)])
            self.assertEqual(round(rows[190]["position_enu_m.y"], 9), 9.0)

    def test_what_is_no_input_is_refused_with_a_sentence(self):
        for inputs, sentence in (([{"variable": "radius", "control": 1}], "inputs[0]: 'radius' is no input"),
                                 ([{"variable": "clutch", "control": 1}], "inputs[0]: the FMU has no variable 'clutch'"),
                                 ([{"variable": "push", "control": 17}], "16"), ([{"variable": "push", "control": 0}], "1")):
            said = self.run_world(self.world(self.fmu(3), inputs=inputs), code=1)
            self.assertIn(sentence, said)


class Example(FmuCase):
    def test_the_car_of_the_build_drives_the_circle_of_its_world(self):
        """Speed 8 m/s, steering 3 deg, wheelbase 2.7 m."""
        rows, summary = self.run_world(CAR, "--mode", "asap", duration="4s")
        yaw_rate = 8 * math.tan(math.radians(3)) / 2.7
        self.assertEqual(summary["ticks"], 4000)
        for row in rows:
            heading = yaw_rate * row["t_ns"] * 1e-9
            self.assertAlmostEqual(row["position_enu_m.x"], 8 / yaw_rate * math.sin(heading), delta=1e-5)
            self.assertAlmostEqual(row["position_enu_m.y"], 8 / yaw_rate * (1 - math.cos(heading)), delta=1e-5)
            self.assertAlmostEqual(row["angular_rate_body_rad_s.z"], yaw_rate, delta=1e-12)
            self.assertAlmostEqual(row["q_enu_from_body.w"], math.cos(heading / 2), delta=1e-12)

    def test_a_checkpoint_of_the_car_continues_with_the_same_bits(self):
        expected = self.run_world(CAR, "--mode", "asap")[1]["state_hash"]
        self.run_world(CAR, "--mode", "asap", "--checkpoint", self.path / "part.ckpt", duration="0.2s")
        self.assertEqual(self.run_world(CAR, "--mode", "asap", "--restore", self.path / "part.ckpt", duration="0.3s")[1]["state_hash"], expected)


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
        self.start_world(world, "--mode", "step", f"--csv=car/motion={table}")
        for _ in range(kills):
            self.otolith("step", 40, "--world", "test")
            self.kill_host()
        self.otolith("step", 500 - 40 * kills, "--world", "test")
        self.end_world()
        return table.read_text()

    def test_a_host_that_is_killed_ten_times_changes_no_bit(self):
        for version in VERSIONS:
            world = self.world(self.fmu(version))
            self.run_world(world)
            self.assertEqual(self.step_world(world, 10), (self.path / "truth.csv").read_text())

    def test_without_state_the_vehicle_ends_with_its_host(self):
        rows = self.step_world(self.world(self.fmu(3, description(3, saves="false"))), 1).splitlines()
        self.assertEqual(len(rows), 501)
        self.assertEqual(rows[-1].split(",")[2:5], rows[41].split(",")[2:5])


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
        self.assert_refused(fmu, "start[0]: the FMU has no variable 'wheels'", wheels=4)
        self.assert_refused(fmu, "start[0]: 'x' is no parameter or input", x=4)
        self.assert_refused(fmu, "start[0]: the FMU does not accept 4e+09 for 'mode'", mode=4e9)
        self.assert_refused(fmu, "step_s of 0.00033", step_s=0.00033 + 1e-9)

    def test_a_wrong_guid_is_refused_with_the_words_of_the_fmu(self):
        self.assert_refused(self.fmu(2, description(2, token="{another}")), "refuses to start", "wrong guid {another}")
        self.assert_refused(self.fmu(3, description(3, token="{another}")), "refuses to start", "wrong instantiation token")

    def test_descriptions_that_are_not_usable_are_refused(self):
        for version in VERSIONS:
            self.assert_refused(self.fmu(version, description(version, co_simulation=False)), "no FMU for co-simulation")
            self.assert_refused(self.fmu(version, description(version).replace("</ModelVariables>", "")), "modelDescription.xml:", "mismatched tag")
            self.assert_refused(self.fmu(version, description(version, doctype='<!DOCTYPE a [<!ENTITY b "c">]>')), "document type")
            self.assert_refused(self.fmu(version, description(version).replace("<UnitDef", "<a>" * 100000 + "<UnitDef")), "nested deeper than 64")
            for changed, sentence in (('name="x" valueReference="-1"', "valueReference of a variable"),
                                      ('name="x" valueReference="4294967297"', "valueReference of a variable"),
                                      ('name="x" valueReference="one"', "valueReference of a variable")):
                text = description(version).replace('name="x" valueReference="1"', changed)
                self.assert_refused(self.fmu(version, text), "modelDescription.xml:", sentence)
            for changed, sentence in (('factor="0"', "no factor 0"), ('factor="nan"', "finite numbers are accepted"),
                                      ('s="1e300"', "of dimension m^1 s^127")):
                self.assert_refused(self.fmu(version, description(version).replace('factor="1000"', changed)), sentence)
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

    def test_elements_of_an_array_whose_size_is_a_structural_parameter(self):
        """Columns of the reference result are whole arrays."""
        world = self.world(REFERENCE / "3.0" / "StateSpace.fmu", truth={"position_x_m": "y[1]", "position_y_m": "y[3]"}, **{"u[3]": 3, "x0[1]": 0})
        rows, _ = self.run_world(world, duration="5s")
        compared = 0
        with open(REFERENCE / "StateSpace_out.csv", encoding="utf-8") as file:
            for expected in csv.DictReader(file):
                y, tick = list(map(float, expected["y"].split())), round(float(expected["time"]) * 1000)
                if 0 < tick <= len(rows):
                    self.assertAlmostEqual(rows[tick - 1]["position_enu_m.x"], y[0], delta=1e-6 * y[0])
                    self.assertAlmostEqual(rows[tick - 1]["position_enu_m.y"], y[2], delta=1e-6 * y[2])
                    compared += 1
        self.assertGreaterEqual(compared, 4)

    def test_continuous_and_discrete_inputs_follow_controls(self):
        inputs = [{"variable": f"{kind}_input", "control": control} for kind, control in
                  (("Float64_continuous", 1), ("Float64_discrete", 2), ("Float32_discrete", 3), ("Int8", 4), ("UInt8", 4), ("Int16", 4),
                   ("UInt16", 4), ("Int32", 4), ("UInt32", 4), ("Int64", 4), ("UInt64", 4), ("Boolean", 5))]
        truth = {"position_x_m": "Float64_continuous_output", "position_y_m": "Float64_discrete_output", "position_z_m": "Float32_discrete_output"}
        table = self.path / "driven.csv"
        self.start_world(self.world(REFERENCE / "3.0" / "Feedthrough.fmu", truth=truth, inputs=inputs), f"--csv=car/motion={table}")
        done = subprocess.run([GIVE, "test", "driver", "500:1.5,2,0.5,7,1", "500:-1,3,0.25,100,0"], env=self.environment, timeout=self.timeout_s)
        self.assertEqual(done.returncode, 0)
        self.end_world()
        rows = list(csv.DictReader(table.read_text().splitlines()))
        for tick, expected in ((399, [1.5, 2.0, 0.5]), (899, [-1.0, 3.0, 0.25])):
            self.assertEqual([float(rows[tick][f"position_enu_m.{axis}"]) for axis in "xyz"], expected)


if __name__ == "__main__":
    unittest.main(verbosity=2)
