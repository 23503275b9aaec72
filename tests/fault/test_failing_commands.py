"""One call fails in an `otolith` command, or its output finds no room: all of the output, or an exit code and a sentence."""
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "inject"))
from failing import BIN, DEADLINE_S, SOURCE, World, complain, every, explain, known_fault  # noqa: E402

# Beside a running world "w": the command, and whether it prints the same each time.
BESIDE = ((("ls",), False), (("info", "car/imu"), False), (("echo", "car/imu", "-n", "2"), False),
          (("get", "car/mag"), True), (("set", "car/mag", "temperature_degc", "world"), False),
          (("fault", "car/mag", "stuck", "--for", "10ms"), False), (("checkpoint", "{}/d.ckpt"), False),
          (("swap", "car/mag", "magnetometer"), False))
ALONE = ((("parts", "tdk/icm-42688-p"), True), (("check", "{}/world.yaml"), True),
         (("environment", "--latitude", "48", "--longitude", "11", "--altitude", "0", "--date", "2026-01-01"), True),
         (("verify", "{}/a.log", "{}/a.log"), True), (("model", "list"), True),
         (("run", "{}/world.yaml", "--set=world=v", "--for", "20ms", "--mode", "asap", "--no-publish", "--summary",
           "{}/sum.json"), False))


class FailingCommands(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.complaints = []

    def tearDown(self):
        self.world.close()

    def run_command(self, command, to=subprocess.PIPE):
        command = [word.format(self.world.path) for word in command]
        try:
            return subprocess.run([BIN / "otolith", *command], stdout=to, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                  env=self.world.environment, cwd=SOURCE, timeout=DEADLINE_S, check=False)
        except subprocess.TimeoutExpired:
            return None

    def what_is_wrong(self, done, whole):
        crash = self.world.injector.crash_text
        if done is None:
            return "it hangs"
        if crash:
            return None if known_fault(crash) else f"it crashed: {explain(crash, BIN)}"
        if done.returncode not in (0, 1, 2):
            return f"it ended with {done.returncode}"
        if done.returncode != 0 and not done.stderr.strip():
            return f"it ended with {done.returncode} and said nothing"
        if done.returncode == 0 and whole is not None and done.stdout != whole:
            return f"it printed {done.stdout!r} and ended with 0"
        return None

    def in_trouble(self, command, same):
        self.assertEqual(self.run_command(command).returncode, 0, command)
        self.world.injector.record("otolith")
        whole = self.run_command(command)
        for place in every(self.world, "otolith", 6):
            wrong = self.what_is_wrong(self.run_command(command), whole.stdout if same else None)
            if wrong:
                self.complaints.append(f"otolith {' '.join(command)}: {complain(self.world, place, wrong)}")
        self.world.injector.off()

    def full(self, command):
        with open("/dev/full", "wb") as nowhere:
            done = self.run_command(command, nowhere)
        self.assertEqual(done.returncode, 1, f"{command}: {done.stderr}")
        self.assertIn(b"otolith: ", done.stderr)

    def make_log(self):
        done = subprocess.run([BIN / "otolithd", self.world.file, "--for=50ms", "--mode=asap", "--no-publish",
                               f"--log={self.world.path / 'a.log'}"], env=self.world.environment, capture_output=True,
                              timeout=DEADLINE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_command_in_which_a_call_fails_does_all_or_says_why_not(self):
        self.make_log()
        for command, same in ALONE:
            self.in_trouble(command, same)
        self.world.spawn("--no-publish")
        self.world.attach()
        for command, same in BESIDE:
            self.in_trouble(command, same)
        self.assertEqual(self.world.stop(), 0)
        self.assertFalse(self.world.is_left())
        self.assertEqual(self.complaints, [], "\n\n".join(self.complaints))

    def test_output_that_finds_no_room_is_not_taken_for_done(self):
        for command in (("parts",), ("parts", "tdk/icm-42688-p"), ("model", "list"), ("--help",), ("--version",),
                        ("environment", "--latitude", "48", "--longitude", "11", "--altitude", "0", "--date", "2026-01-01")):
            self.full(command)
        self.world.spawn("--no-publish")
        self.world.attach()
        for command in (("ls",), ("info", "car/imu"), ("echo", "car/imu", "-n", "2"), ("get", "car/mag")):
            self.full(command)
        self.assertEqual(self.world.stop(), 0)


unittest.main()
