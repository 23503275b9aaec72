"""`otolith new` writes a start that works, `otolith run` without a file offers the installed worlds, and `otolith check` reports all errors."""
import json
import os
import pathlib
import pty
import select
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import OtolithCase  # noqa: E402

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))


class Case(OtolithCase):
    program = str(BIN / "otolith")

    def setUp(self):
        super().setUp()
        self.environment["HOME"] = str(self.path)
        self.before = os.getcwd()
        os.chdir(self.path)

    def tearDown(self):
        os.chdir(self.before)
        super().tearDown()


class New(Case):
    def test_a_plugin_is_a_folder_of_files_with_its_name(self):
        self.assertIn("otolith swap first/car/imu build/lab_imu.so", self.otolith("new", "plugin", "lab_imu"))
        written = sorted(path.name for path in (self.path / "lab_imu").iterdir())
        self.assertEqual(written, ["CMakeLists.txt", "README.md", "car.yaml", "lab_imu.c", "test.sh"])
        for path in (self.path / "lab_imu").iterdir():
            self.assertNotIn("my_plugin", path.read_text())
        self.assertIn('.id = "lab_imu"', (self.path / "lab_imu/lab_imu.c").read_text())
        self.otolith("check", "lab_imu/car.yaml")

    def test_a_world_passes_the_check(self):
        listing = json.loads(self.otolith("new", "world", "convoy", "--json"))
        self.assertEqual(listing, {"files": ["convoy.yaml"]})
        self.assertIn("world 'convoy', 1 vehicle, 4 nodes", self.otolith("check", "convoy.yaml"))
        self.otolith("run", "convoy.yaml", "--mode", "asap", "--for", "1s", "--quiet")

    def test_nothing_is_replaced(self):
        (self.path / "convoy.yaml").write_text("mine")
        self.assertIn("'convoy.yaml' exists and is not replaced", self.otolith("new", "world", "convoy", code=1))
        self.assertEqual((self.path / "convoy.yaml").read_text(), "mine")
        (self.path / "lab_imu").mkdir()
        self.assertIn("'lab_imu' exists and is not replaced", self.otolith("new", "plugin", "lab_imu", code=1))

    def test_bad_names_and_kinds_are_refused_with_what_is_accepted(self):
        for name in ("Lab", "9lives", "../up", "a b", "x" * 32, ""):
            self.assertIn("expected a letter a-z", self.otolith("new", "world", name, code=1))
        self.assertIn("expected plugin or world, got 'sensor'", self.otolith("new", "sensor", "x", code=2))
        self.assertEqual(list(self.path.glob("*.yaml")), [])


class Run(Case):
    def test_without_a_terminal_the_default_world_runs(self):
        done = subprocess.run([self.program, "run", "--for", "1s", "--mode", "asap", "--no-publish", "--json"], env=self.environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=self.timeout_s)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("city_drive.yaml", done.stderr)
        self.assertEqual(json.loads(done.stdout)["ticks"], 1000)

    def choose(self, answer, *options):
        """In a terminal; what it prints."""
        keyboard, terminal = pty.openpty()
        process = subprocess.Popen([self.program, "run", "--for", "1s", "--mode", "asap", "--quiet", *options], env=self.environment,
                                   stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True)
        os.close(terminal)
        shown, answered = b"", False
        while select.select([keyboard], [], [], self.timeout_s)[0]:
            try:
                shown += os.read(keyboard, 65536)
            except OSError:  # it has ended
                break
            if not answered and b"Number of the world to run (Enter: city_drive.yaml): " in shown:
                number = answer(shown.decode())
                os.write(keyboard, f"{number}\n".encode())
                answered = True
        code = process.wait(timeout=self.timeout_s)
        os.close(keyboard)
        self.assertTrue(answered, shown)
        return code, shown.decode(errors="replace")

    @staticmethod
    def number_of_minimal(shown):
        return next(line.split()[0] for line in shown.splitlines() if line.endswith("minimal.yaml"))

    def test_on_a_terminal_a_number_chooses_a_world(self):
        code, shown = self.choose(self.number_of_minimal, "--csv", f"minimal/car/imu={self.path / 'imu.csv'}")
        self.assertEqual(code, 0, shown)
        self.assertEqual(len((self.path / "imu.csv").read_text().splitlines()), 101)

    def test_on_a_terminal_enter_chooses_the_default_world(self):
        code, shown = self.choose(lambda shown: "", "--csv", f"demo/car/imu={self.path / 'imu.csv'}")
        self.assertEqual(code, 0, shown)
        self.assertEqual(len((self.path / "imu.csv").read_text().splitlines()), 201)

    def test_another_answer_is_an_error(self):
        code, shown = self.choose(lambda shown: "99")
        self.assertEqual(code, 1)
        self.assertIn("expected a number from 1 to ", shown)


class Check(Case):
    def test_all_errors_of_a_file_are_reported_at_once(self):
        (self.path / "bad.yaml").write_text("world: bad\nseed: x\nclock: {moed: asap}\nvehicles:\n  - name: car\n"
                                            "    motion: {plugin: motion_script, params: {foo: 1}}\n    nodes:\n"
                                            "      - {name: imu, plugin: mems_imu, rate_hz: fast}\n")
        lines = self.otolith("check", "bad.yaml", code=1).splitlines()
        places = [line.split(": ")[1] for line in lines]
        self.assertEqual(places, ["bad.yaml:2:7", "bad.yaml:3:9", "bad.yaml:6:46", "bad.yaml:8:48"], lines)

    def test_a_program_reads_the_result_as_json(self):
        (self.path / "good.yaml").write_text("world: good\nvehicles: [{name: car, motion: {plugin: motion_script}}]\n")
        self.assertEqual(json.loads(self.otolith("check", "good.yaml", "--json")),
                         {"ok": True, "world": "good", "vehicles": 1, "nodes": 1, "channels": 2})
        (self.path / "bad: 1:2.yaml").write_text("world: bad\nseed: '\"\\'\n")
        done = self.call("check", "bad: 1:2.yaml", "--json")
        self.assertEqual(done.returncode, 1)
        errors = json.loads(done.stdout)["errors"]
        self.assertEqual([(error["file"], error["line"], error["column"]) for error in errors],
                         [("bad: 1:2.yaml", 2, 7), ("bad: 1:2.yaml", 1, 1)])
        self.assertIn('got the text ""\\"', errors[0]["error"])
        (self.path / "syntax.yaml").write_text("world: [a\n")
        self.assertEqual(len(json.loads(self.call("check", "syntax.yaml", "--json").stdout)["errors"]), 1)
        self.assertEqual(json.loads(self.call("check", "missing.yaml", "--json").stdout)["errors"][0]["line"], 0)

    def test_the_check_stops_after_twenty_errors(self):
        (self.path / "bad.yaml").write_text("world: bad\nvehicles: [{name: car, motion: {plugin: motion_script}}]\n" +
                                            "".join(f"unknown{i}: 1\n" for i in range(30)))
        lines = self.otolith("check", "bad.yaml", code=1).splitlines()
        self.assertEqual(len(lines), 21)
        self.assertIn("the check stopped after 20 errors", lines[-1])


if __name__ == "__main__":
    unittest.main()
