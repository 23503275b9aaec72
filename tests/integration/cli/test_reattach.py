"""Commands that read a world reattach when it restarts, report its new epoch, and end with a sentence when it does not restart."""
import contextlib
import csv
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN = pathlib.Path(sys.argv.pop(1))
OTOLITH = str(BIN / "otolith")
DEADLINE_S = 300

WORLD = """
world: again
seed: 5
clock: {rate_hz: 1000, mode: realtime}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 200}
checkpoint: {every_s: 0.2, keep: 2, directory: SAVES}
publish: {listen: [ipc]}
"""


def breaks(seq):
    """The gaps in a sequence of numbers."""
    return [(a, b) for a, b in zip(seq, seq[1:]) if b != a + 1]


class Reattach(unittest.TestCase):
    def setUp(self):
        self.path = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="otolith-again-")))
        os.chmod(self.path, 0o700)
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.path), TERM="xterm")
        self.environment.pop("OTOLITH_WORLD", None)
        self.world = self.path / "world.yaml"
        self.world.write_text(WORLD.replace("SAVES", str(self.path / "saves")))
        self.addCleanup(self.end_all)
        self.processes = []

    def end_all(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=DEADLINE_S)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()

    def spawn(self, name, *command, out=None):
        """Standard output goes to NAME.out or `out`, standard error to NAME.err."""
        with open(self.path / f"{name}.out", "wb") as plain, open(self.path / f"{name}.err", "wb") as errors:
            process = subprocess.Popen([str(part) for part in command], env=self.environment,
                                       stdout=plain if out is None else out, stderr=errors)
        self.processes.append(process)
        return process

    def out(self, name):
        return (self.path / f"{name}.out").read_text()

    def err(self, name):
        return (self.path / f"{name}.err").read_text()

    def until(self, condition, what):
        deadline = time.monotonic() + DEADLINE_S
        while True:
            result = condition()
            if result:
                return result
            self.assertLess(time.monotonic(), deadline, f"waited too long for {what}")
            time.sleep(0.005)

    def serve(self, *options):
        process = self.spawn("server", BIN / "otolithd", *options, self.world)
        return process, self.until(self.facts, "the world")

    def facts(self, other_than=None):
        try:
            facts = json.loads((self.path / "otolith" / "again" / "server.json").read_text())
        except (OSError, ValueError):
            return None
        return facts if facts["epoch"] != other_than else None

    def saved(self):
        return list((self.path / "saves").glob("*.ckpt"))

    def recorded(self, name):
        """Whether the recording has samples."""
        file = self.path / f"{name}.mcap"
        return file.exists() and file.stat().st_size > 10000

    def rows(self, name):
        """Whole lines of a CSV that is still being written."""
        text = self.out(name)
        return [int(row["seq"]) for row in csv.DictReader(text[:text.rfind("\n") + 1].splitlines())]

    def grows(self, name, by=20):
        before = len(self.rows(name))
        self.until(lambda: len(self.rows(name)) >= before + by, f"samples of {name}: {self.err(name)}")

    def says_epoch(self, name, epoch):
        self.until(lambda: f"restarted with epoch {epoch}" in self.err(name), f"the epoch from {name}")
        self.assertEqual(self.err(name).count("restarted with epoch"), 1, self.err(name))

    def otolith(self, *arguments, code=0):
        done = subprocess.run([OTOLITH, *map(str, arguments)], env=self.environment, capture_output=True, text=True,
                              timeout=DEADLINE_S)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_all_who_watch_go_on_after_a_crash(self):
        _, first = self.serve("--supervise")
        url = f"ipc://{self.path}/otolith/again/pub.ipc"
        screen, terminal = pty.openpty()
        self.spawn("shm", OTOLITH, "echo", "again/car/imu", "--csv", "--wait", "5min")
        self.spawn("nng", OTOLITH, "echo", "again/car/imu", "--csv", "--via", "nng", "--wait", "5min")
        self.spawn("remote", OTOLITH, "echo", "again/car/imu", "--csv", "--connect", url, "--wait", "5min")
        self.spawn("hz", OTOLITH, "hz", "car/imu", "--window", "200ms", "-n", "1000000", "--wait", "5min")
        self.spawn("record", OTOLITH, "record", "--wait", "5min", "-o", self.path / "again.mcap")
        self.spawn("top", OTOLITH, "top", "--wait", "5min", out=terminal)
        os.close(terminal)
        echoes = ("shm", "nng", "remote")
        drawn = bytearray()

        def look():  # all the time: `top` waits where the terminal is full
            with open(screen, "rb", buffering=0) as file, contextlib.suppress(OSError):  # `top` has ended
                while True:
                    drawn.extend(file.read(65536))

        def top_draws():
            return b"again/car/imu" in drawn

        threading.Thread(target=look, daemon=True).start()

        self.until(self.saved, "a checkpoint")
        for name in echoes:
            self.grows(name)
        self.until(lambda: "200.000 Hz" in self.out("hz"), "a rate")
        self.until(top_draws, "a view")
        self.until(lambda: self.recorded("again"), "a recording")
        os.kill(first["pid"], signal.SIGSEGV)
        epoch = self.until(lambda: self.facts(first["epoch"]), "the next run")["epoch"]
        for name in (*echoes, "top", "record"):
            self.says_epoch(name, epoch)
        self.says_epoch("hz", epoch)
        for name in echoes:
            self.grows(name)
        windows = len(self.out("hz").splitlines())
        self.until(lambda: any("200.000 Hz" in line for line in self.out("hz").splitlines()[windows:]), "a rate again")
        drawn.clear()
        self.until(top_draws, "a view of the next run")
        self.assertTrue(all(process.poll() is None for process in self.processes))
        self.assertEqual(breaks(self.rows("shm")), [])  # neither a gap nor a sample twice
        for name in ("nng", "remote"):  # unsent frames of the publisher are lost, if there were any; repeated ticks have the new epoch
            self.assertLessEqual(len(breaks(self.rows(name))), 1 + self.err(name).count("were lost"), self.err(name))

    def test_a_restored_checkpoint_is_followed_as_a_run_of_its_own(self):
        _, first = self.serve()
        checkpoint = self.path / "early.ckpt"
        self.spawn("echo", OTOLITH, "echo", "car/imu", "--csv")
        self.grows("echo", 10)
        self.otolith("checkpoint", checkpoint)
        self.grows("echo", 100)
        self.otolith("restore", checkpoint)
        epoch = self.until(lambda: self.facts(first["epoch"]), "the next run")["epoch"]
        self.says_epoch("echo", epoch)
        self.until(lambda: breaks(self.rows("echo")), "the samples made again")
        (before, after), = breaks(self.rows("echo"))
        self.assertLess(after, before)

    def test_run_follows_a_restore_as_well(self):
        run = self.spawn("run", OTOLITH, "run", self.world, "--csv", "car/imu=-", "--quiet", "--no-publish")
        first = self.until(self.facts, "the world")
        checkpoint = self.path / "early.ckpt"
        self.grows("run", 100)
        self.otolith("checkpoint", checkpoint)
        self.grows("run", 200)
        self.otolith("restore", checkpoint)
        self.until(lambda: self.facts(first["epoch"]), "the next run")
        self.until(lambda: breaks(self.rows("run")), "the samples made again")
        self.grows("run", 200)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=DEADLINE_S), 130, self.err("run"))
        (before, after), = breaks(self.rows("run"))
        self.assertLess(after, before)

    def test_a_world_that_does_not_come_again_is_given_up(self):
        server, facts = self.serve()
        url = f"ipc://{self.path}/otolith/again/pub.ipc"
        self.otolith("echo", "again/car/imu", "-n", "1", "--wait", "5min", "--connect", url)  # the publisher listens
        waits = {"echo": self.spawn("echo", OTOLITH, "echo", "car/imu", "--csv", "--wait", "200ms"),
                 "hz": self.spawn("hz", OTOLITH, "hz", "car/imu", "--window", "100ms", "-n", "1000000", "--wait", "200ms"),
                 "record": self.spawn("record", OTOLITH, "record", "--wait", "200ms", "-o", self.path / "given_up.mcap"),
                 "remote": self.spawn("remote", OTOLITH, "echo", "again/car/imu", "--csv", "--wait", "5s", "--connect", url)}
        self.grows("echo")
        self.grows("remote")
        self.until(lambda: self.out("hz"), "a rate")
        self.until(lambda: self.recorded("given_up"), "a recording")
        os.kill(facts["pid"], signal.SIGKILL)
        server.wait(timeout=DEADLINE_S)
        for name, process in waits.items():
            self.assertEqual(process.wait(timeout=DEADLINE_S), 1, name)
            self.assertIn("for 5 s" if name == "remote" else "did not restart within 0.2 s", self.err(name))
            self.assertIn("--wait sets the time", self.err(name))
        self.assertIn(" samples, ", self.err("record"))

    def test_an_end_in_order_is_the_end_unless_one_is_asked_to_wait(self):
        server, first = self.serve()
        ends = self.spawn("ends", OTOLITH, "echo", "car/imu", "--csv")
        self.spawn("waits", OTOLITH, "echo", "car/imu", "--csv", "--wait", "10min")
        self.grows("ends")
        self.grows("waits")
        server.terminate()
        self.assertEqual(server.wait(timeout=DEADLINE_S), 0)
        self.assertEqual(ends.wait(timeout=DEADLINE_S), 0)
        self.assertIn("the world has ended", self.err("ends"))
        self.until(lambda: "waiting 600 s" in self.err("waits"), "the one that waits")
        _, again = self.serve()
        self.says_epoch("waits", again["epoch"])
        self.grows("waits")
        self.assertNotEqual(again["epoch"], first["epoch"])
        self.assertIn("the run of world 'again' has ended", self.err("waits"))

    def test_a_topic_that_is_gone_ends_it(self):
        server, _ = self.serve()
        echo = self.spawn("echo", OTOLITH, "echo", "car/imu", "--csv", "--wait", "10min")
        self.grows("echo")
        server.terminate()
        self.assertEqual(server.wait(timeout=DEADLINE_S), 0)
        self.world.write_text(self.world.read_text().replace("name: imu", "name: other"))
        self.serve()
        self.assertEqual(echo.wait(timeout=DEADLINE_S), 1)
        self.assertIn("has no topic 'again/car/imu'", self.err("echo"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
