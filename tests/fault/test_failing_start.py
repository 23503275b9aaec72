"""One call fails, at any place, from the start of a server to its end: the server continues, or ends in order and reports why."""
import pathlib
import shutil
import socket
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "inject"))
from failing import BIN, World, complain, every, judge_end, known_fault, until  # noqa: E402

SUBSCRIBE = bytes([0, 0x53, 0x50, 0, 0, 0x21, 0, 0])  # the SP handshake of a subscriber


class FailingStart(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.log, self.checkpoint = self.world.path / "run.log", self.world.path / "end.ckpt"
        self.kept = [f"--log={self.log}", f"--checkpoint={self.checkpoint}"]
        self.complaints = []

    def tearDown(self):
        self.world.close()

    def settle(self):
        self.assertEqual(self.complaints, [], "\n\n".join(self.complaints))

    def complain_if(self, place, what):
        if what:
            self.complaints.append(complain(self.world, place, what))
            self.world.clean()

    def a_life(self, *arguments):
        """Start, first sign of life, end; the exit code."""
        world = self.world
        world.spawn(*arguments)
        alive = until(lambda: world.server.poll() is not None or world.runs())
        code = world.stop()
        return code if alive else "no sign of life"

    def is_restorable(self):
        done = subprocess.run([BIN / "otolithd", "--check", f"--restore={self.checkpoint}", self.world.file],
                              env=self.world.environment, capture_output=True, timeout=300, check=False)
        return done.returncode == 0

    def files_wrong(self, code):
        """A checkpoint is the old one or the new one, complete; a log is complete or reported as incomplete."""
        if list(self.world.path.glob("*.tmp")):
            return "a temporary file is left"
        if not self.is_restorable():
            return "the checkpoint is damaged"
        ended = self.log.exists() and '"entry": "end"' in self.log.read_text().rpartition("{")[2]
        if code == 0 and not ended and not any(str(self.log) in line for line in self.world.said()):
            return "the log does not end, and nothing was said"
        return None

    def test_a_server_in_which_a_call_fails_goes_on_or_ends_in_order(self):
        world = self.world
        world.injector.record("otolithd")
        self.assertEqual(self.a_life(*self.kept), 0, world.said())
        whole = self.checkpoint.read_bytes()
        for place in every(world, "otolithd", 24):
            self.checkpoint.write_bytes(whole)
            self.log.unlink(missing_ok=True)
            code = self.a_life(*self.kept)
            died = world.injector.crashed
            wrong = judge_end(world, code, left_is_fine=died)
            world.clean()
            world.injector.off()
            self.complain_if(place, wrong or (None if died else self.files_wrong(code)))
        self.settle()

    def test_what_a_supervising_parent_fails_in_does_not_keep_the_world(self):
        world = self.world
        world.injector.record("otolithd")
        self.assertEqual(self.a_life("--supervise", "--no-publish"), 0, world.said())
        for place in every(world, "otolithd", 6):
            code = self.a_life("--supervise", "--no-publish")
            self.complain_if(place, judge_end(world, code, left_is_fine=world.injector.crashed))
            world.clean()
        self.settle()

    def test_a_run_goes_on_from_a_checkpoint_or_says_why_not(self):
        world = self.world
        self.assertEqual(self.a_life(*self.kept), 0, world.said())
        world.injector.record("otolithd")
        again = ["--no-publish", f"--restore={self.checkpoint}"]
        self.assertEqual(self.a_life(*again), 0, world.said())
        for place in every(world, "otolithd", 6):
            code = self.a_life(*again)
            self.complain_if(place, judge_end(world, code, left_is_fine=world.injector.crashed))
            world.clean()
        self.settle()

    def test_a_log_is_followed_or_it_is_said_why_not(self):
        world = self.world
        self.assertEqual(self.a_life(*self.kept), 0, world.said())
        shutil.copy(self.log, world.path / "first.log")
        world.file, file = f"--replay={world.path / 'first.log'}", world.file
        world.injector.record("otolithd")
        self.assertEqual(self.a_life("--no-publish"), 0, world.said())
        for place in every(world, "otolithd", 6):
            code = self.a_life("--no-publish")
            self.complain_if(place, judge_end(world, code, left_is_fine=world.injector.crashed))
            world.clean()
        world.file = file
        self.settle()

    def test_few_descriptors_that_cannot_be_made_more_are_enough_for_a_plugin_host(self):
        world = self.world
        done = subprocess.run(["sh", "-c", 'ulimit -n 64 && exec "$@"', "sh", BIN / "otolithd", world.file, "--for=20ms",
                               "--mode=asap"], env=world.environment, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)

    # ---- what the server starts ----

    def is_served(self):
        """A new subscriber gets a frame."""
        try:
            with socket.socket(socket.AF_UNIX) as subscriber:
                subscriber.settimeout(0.5)
                subscriber.connect(str(self.world.path / "otolith" / "w" / "pub.ipc"))
                subscriber.sendall(SUBSCRIBE)
                got = 0
                while got <= len(SUBSCRIBE):
                    part = subscriber.recv(4096)
                    got += len(part)
                    if not part:
                        return False
                return True
        except OSError:
            return False

    def helped_life(self, is_helped):
        """The defect of a server whose child process had a failure, or None."""
        world = self.world
        world.spawn()
        if not until(lambda: world.server.poll() is not None or world.attach()):
            return "the server does not come"
        if world.server.poll() is None and not until(is_helped):
            return "the helper does not come back"
        well = world.server.poll() is not None or world.is_well()
        code = world.stop()
        if not well or code not in (0, 1):
            return f"the server suffered, and ended with {code}"
        if world.injector.crashed and not known_fault(world.injector.crash_text):
            return f"the helper crashed: {world.injector.crash_text}"
        return "it left its runtime directory" if world.is_left() else None

    def test_a_publisher_in_which_a_call_fails_is_replaced(self):
        self.world.injector.record("otolith-publisher")
        self.assertIsNone(self.helped_life(self.is_served))
        for place in every(self.world, "otolith-publisher", 6):
            self.complain_if(place, self.helped_life(self.is_served))
        self.settle()

    def test_a_plugin_host_in_which_a_call_fails_is_replaced_or_ends_the_start(self):
        def samples():
            if self.world.server.poll() is not None:
                return True
            reader = self.world.client["car/imu"].reader()
            return until(lambda: self.world.server.poll() is not None or len(reader.read()) > 0, 1)
        self.world.injector.record("otolith-plugin-host")
        self.assertIsNone(self.helped_life(samples))
        for place in every(self.world, "otolith-plugin-host", 5):
            self.complain_if(place, self.helped_life(samples))
        self.settle()


unittest.main()
