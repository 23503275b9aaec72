"""A server that dies restarts from its newest checkpoint, without the node that killed it, and its clients reattach."""
import csv
import fcntl
import json
import os
import pathlib
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

BIN, PLUGINS, TEST_PLUGINS = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
OTOLITH = str(BIN / "otolith")
os.environ["OTOLITH_LIBRARY"] = str(BIN.parent / "lib" / "libotolith.so")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "clients" / "python"))
sys.dont_write_bytecode = True

import otolith  # noqa: E402

CRASH = 21  # enum oto_event_kind

WORLD = """
world: guarded
seed: 5
clock: {rate_hz: 1000, mode: realtime}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - name: imu
        plugin: mems_imu
        rate_hz: 200
        params: {accelerometer: {noise_density_m_s2_rthz: 0.002}, gyroscope: {random_walk_rad_s_rthz: 0.001}}
      - {name: bad, plugin: TROUBLE, rate_hz: 100}
checkpoint: {every_s: 0.2, keep: 2, directory: SAVES}
publish: false
"""


def of_process(pid, name):
    """The text of a file of /proc/PID; empty once the process or the thread is gone, which can be between open and read."""
    try:
        return pathlib.Path("/proc", str(pid), name).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


class Supervised(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-supervise-")
        self.path = pathlib.Path(self.directory.name)
        os.chmod(self.path, 0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(self.path)  # for the events, which are read in this process
        os.environ.pop("OTOLITH_WORLD", None)
        self.environment = dict(os.environ)
        self.world = self.path / "world.yaml"
        self.world.write_text(WORLD.replace("TROUBLE", str(TEST_PLUGINS / "counter.so"))
                              .replace("SAVES", str(self.path / "saves")))
        self.obstacle = self.path / "otolith" / "guarded" / "control.new"
        self.process = None
        self.log = open(self.path / "log.txt", "w+")

    def tearDown(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.send_signal(signal.SIGCONT)  # a test may have stopped it
            self.process.wait(timeout=300)
        self.log.close()
        self.directory.cleanup()

    def start(self, program, *arguments):
        self.process = subprocess.Popen([str(BIN / program), *map(str, arguments)], env=self.environment,
                                        stdout=subprocess.DEVNULL, stderr=self.log)

    def until(self, condition, what):
        deadline = time.monotonic() + 300
        while True:
            result = condition()
            if result:
                return result
            self.assertLess(time.monotonic(), deadline, f"waited too long for {what}: {self.said()}")
            time.sleep(0.002)

    def said(self):
        return (self.path / "log.txt").read_text()

    def facts(self):
        try:
            return json.loads((self.path / "otolith" / "guarded" / "server.json").read_text())
        except (OSError, ValueError):
            return None

    def otolith(self, *arguments):
        return subprocess.run([OTOLITH, *map(str, arguments)], env=self.environment, capture_output=True, text=True,
                              timeout=300)

    def running(self, other_than=None):
        facts = self.facts()
        return facts if facts is not None and facts["epoch"] != other_than else None

    def saved(self):
        return list((self.path / "saves").glob("*.ckpt"))

    def test_a_killed_server_goes_on_from_its_checkpoint(self):
        self.start("otolithd", "--supervise", self.world)
        for how in (signal.SIGSEGV, signal.SIGKILL):
            first = self.until(self.running, "the world")
            self.until(self.saved, "a checkpoint")
            os.kill(first["pid"], how)
            again = self.until(lambda: self.running(first["epoch"]), "the next run")
            self.assertNotEqual(again["pid"], first["pid"])
            self.assertIn(f"died of {how.name}", self.said())
        event, = self.events()
        self.assertEqual(bytes(event["source"]), b"server")
        self.assertIn(b"died of SIGKILL", bytes(event["text"]))
        self.until(lambda: self.samples("guarded/car/imu") > 30, "samples of the next run")

    def test_a_world_that_loads_is_ended_in_order(self):
        """`prepare` of the node does not return: the world loads for ever."""
        self.world.write_text(self.world.read_text().replace("rate_hz: 100}", "rate_hz: 100, params: {trouble: endless}}"))
        self.start("otolithd", "--supervise", self.world)
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        self.until(children.read_text, "the server")
        self.process.terminate()
        self.assertEqual(self.process.wait(timeout=300), 0)

    def samples(self, topic):
        listing = json.loads(self.otolith("ls", "--json").stdout)
        return next((row["samples"] for row in listing[0]["topics"] if row["topic"] == topic), 0) if listing else 0

    def events(self):
        """Those of crashes, of the world as it runs now, oldest first."""
        with otolith.World("guarded") as world:
            records = world["@events"].reader(from_oldest=True).read()
            return [row for row in records if row["kind"] == CRASH]

    def test_the_plugin_that_killed_it_is_named_and_left_out(self):
        self.start("otolithd", "--supervise", self.world)
        first = self.until(self.running, "the world")
        self.until(self.saved, "a checkpoint")
        self.otolith("set", "car/bad", "trouble", "crash")
        self.until(lambda: self.running(first["epoch"]), "the next run")
        self.assertIn("died of SIGSEGV in the step of 'car/bad'", self.said())
        self.assertIn("the node is quarantined", self.said())
        before = self.until(lambda: self.samples("guarded/car/imu"), "samples")
        self.until(lambda: self.samples("guarded/car/imu") > before + 50, "the world to go on")

    def test_the_plugin_that_overflowed_its_stack_is_named_and_left_out(self):
        self.start("otolithd", "--supervise", self.world)
        first = self.until(self.running, "the world")
        self.until(self.saved, "a checkpoint")
        self.otolith("set", "car/bad", "trouble", "overflow")
        self.until(lambda: self.running(first["epoch"]), "the next run")
        self.assertIn("died of SIGSEGV in the step of 'car/bad'", self.said())
        self.assertIn("the node is quarantined", self.said())

    def test_large_frames_do_not_jump_over_the_end_of_the_stack(self):
        self.world.write_text(self.world.read_text().replace("counter.so", "hostile_step_stack.so"))
        self.start("otolithd", "--supervise", self.world)
        self.until(lambda: "the node is quarantined" in self.said(), "the crash")
        self.assertIn("died of SIGSEGV in the step of 'car/bad'", self.said())
        self.until(lambda: self.samples("guarded/car/imu") > 30, "samples of the next run")

    def test_a_node_that_crashed_the_server_is_left_out_of_the_replay_too(self):
        log = self.path / "run.log"
        self.start("otolithd", "--supervise", self.world, "--log", log, "--log-hashes", "10")
        first = self.until(self.running, "the world")
        self.until(self.saved, "a checkpoint")
        self.otolith("set", "car/bad", "trouble", "crash")
        self.until(lambda: self.running(first["epoch"]), "the next run")
        self.until(lambda: self.samples("guarded/car/imu") > 30, "samples of the next run")
        self.process.terminate()
        self.assertEqual(self.process.wait(timeout=300), 0, self.said())
        entries = [json.loads(line) for line in (self.path / "run.log.1").read_text().splitlines()]
        self.assertEqual([entry["node"] for entry in entries if entry["entry"] == "quarantine"], ["car/bad"])
        done = self.otolith("run", "--replay", self.path / "run.log.1", "--quiet", "--mode", "asap")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the same as logged", done.stderr)

    def test_a_step_that_never_ends_is_a_death_too(self):
        self.start("otolithd", "--supervise", self.world)
        first = self.until(self.running, "the world")
        self.until(self.saved, "a checkpoint")
        self.otolith("set", "car/bad", "trouble", "stuck")
        self.until(lambda: self.running(first["epoch"]), "the next run")
        self.assertIn("died of SIGABRT in the step of 'car/bad'", self.said())
        self.assertIn("the step does not end", self.said())

    def test_three_crashes_in_a_minute_end_it(self):
        self.start("otolithd", "--supervise", self.world)
        epoch = None
        for _ in range(3):
            facts = self.until(lambda: self.running(epoch), "the world")
            epoch = facts["epoch"]
            os.kill(facts["pid"], signal.SIGSEGV)
        self.assertEqual(self.process.wait(timeout=300), 128 + signal.SIGSEGV)
        self.assertIn("third time within a minute", self.said())

    def restore_where_no_run_can_start(self, *options):
        """A folder stands where the next run needs its socket. A supervisor is stopped: its next server might find the folder as well."""
        self.start("otolithd", *options, self.world)
        first = self.until(self.running, "the world")
        if "--supervise" in options:
            self.stop(self.process.pid)
        replies = queue.Queue()

        def restore(world):
            try:
                replies.put(world.restore(self.path / "a.ckpt").text)
            except otolith.OtolithError as refusal:
                replies.put(str(refusal))

        with otolith.World("guarded", timeout_s=300) as world:
            world.checkpoint(self.path / "a.ckpt")
            self.obstacle.mkdir()
            client = threading.Thread(target=restore, args=(world,))
            client.start()
            self.until(lambda: "the restored world cannot start" in self.said(), "the failure")
            yield first
            client.join(300)
        yield replies.get(timeout=1)

    def test_a_restored_run_that_cannot_start_is_tried_again(self):
        steps = self.restore_where_no_run_can_start()
        first = next(steps)
        self.obstacle.rmdir()
        again = self.until(lambda: self.running(first["epoch"]), "the next run")
        self.assertEqual((next(steps), again["pid"]), ("restored", first["pid"]))
        self.assertIn("control.sock cannot be opened", self.said())

    def test_a_restored_run_that_never_starts_is_left_to_the_supervisor(self):
        steps = self.restore_where_no_run_can_start("--supervise")
        first = next(steps)
        self.until(lambda: self.state(first["pid"]) == ["Z"], "the end of the server")
        self.obstacle.rmdir()
        self.process.send_signal(signal.SIGCONT)
        self.until(lambda: self.running(first["epoch"]), "the next run")
        self.assertIn("ended with code 1 and not in order", self.said())
        self.assertIn("control.sock cannot be opened", next(steps))
        self.assertIsNone(self.process.poll())

    def test_an_orderly_end_is_one(self):
        self.start("otolithd", "--supervise", self.world)
        facts = self.until(self.running, "the world")
        self.process.terminate()
        self.assertEqual(self.process.wait(timeout=300), 0)
        self.assertRaises(ProcessLookupError, os.kill, facts["pid"], 0)
        self.assertFalse(list(self.path.glob("otolith-saves-*")))

    def assert_exit_is_named(self, plugin):
        self.world.write_text(self.world.read_text().replace("counter.so", plugin))
        self.start("otolithd", "--supervise", self.world)
        self.until(lambda: "the node is quarantined" in self.said(), "the crash")
        self.assertIn("ended with code 0 and not in order in the step of 'car/bad'", self.said())
        self.until(lambda: self.samples("guarded/car/imu") > 30, "samples of the next run")

    def test_the_plugin_that_called_exit_is_named_and_left_out(self):
        self.assert_exit_is_named("hostile_step_quit.so")

    def test_the_plugin_that_ended_the_process_by_a_bare_system_call_is_named_and_left_out(self):
        self.assert_exit_is_named("hostile_step_exit.so")

    def test_an_exit_in_a_thread_beside_the_tick_thread_is_named_too(self):
        """The tick thread takes the first 32 vehicles, the other thread the car behind them."""
        others = "".join(f"  - {{name: other_{i}, motion: {{plugin: motion_script}}}}\n" for i in range(32))
        self.world.write_text(self.world.read_text().replace("vehicles:\n", "threads: 2\nvehicles:\n" + others))
        self.assert_exit_is_named("hostile_step_exit.so")

    def test_an_exit_that_a_plugin_made_is_a_crash(self):
        self.world.write_text(self.world.read_text().replace("counter.so", "hostile_prepare_exit.so"))
        self.start("otolithd", "--supervise", self.world)
        self.assertEqual(self.process.wait(timeout=300), 1)
        self.assertEqual(self.said().count("ended with code 0 and not in order while it loaded the world"), 3)
        self.assertIn("third time within a minute", self.said())

    def test_a_check_that_a_plugin_ended_is_no_success(self):
        sound = self.world.read_text()
        for plugin in ("hostile_prepare_exit.so", "hostile_init_exit.so"):
            self.world.write_text(sound.replace("counter.so", plugin))
            for program in ("otolith", "otolithd"):
                done = subprocess.run([str(BIN / program), "check" if program == "otolith" else "--check", str(self.world)],
                                      env=self.environment, capture_output=True, text=True, timeout=300)
                self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                self.assertRegex(done.stderr, "the check .* ended with code 0 and not in order while it loaded the world: the file of a "
                                              "plugin is damaged, or its code is")

    def test_without_a_supervisor_an_exit_in_a_step_is_no_success(self):
        for plugin in ("hostile_step_quit.so", "hostile_step_exit.so"):
            self.world.write_text(re.sub(r"(counter|hostile_step_quit)\.so", plugin, self.world.read_text()))
            self.start("otolithd", self.world)
            self.assertEqual(self.process.wait(timeout=300), -signal.SIGABRT)
            self.assertIn(f"was ended by a plugin, and not in order in the step of 'car/bad'", self.said())

    def test_a_save_that_cannot_be_restored_gives_way_to_an_older_one_and_at_last_to_the_beginning(self):
        self.world.write_text(self.world.read_text().replace("every_s: 0.2, keep: 2", "every_s: 0.2, keep: 4"))
        self.start("otolithd", "--supervise", self.world)
        first = self.until(self.running, "the world")
        self.until(lambda: len(self.saved()) >= 3, "three checkpoints")
        self.stop(first["pid"])
        _, *saves = sorted(self.saved())
        for save in saves:
            save.write_bytes(save.read_bytes()[:-8])
        os.kill(first["pid"], signal.SIGKILL)
        second = self.until(lambda: self.running(first["epoch"]), "the next run")
        self.assertIn("cannot be restored; an older one is tried", self.said())
        self.assertIn("is damaged", self.said())
        self.stop(second["pid"])
        for save in self.saved():
            save.write_bytes(b"no checkpoint")
        os.kill(second["pid"], signal.SIGKILL)
        self.until(lambda: self.running(second["epoch"]), "the run from the beginning")
        self.assertIn("cannot be restored; the world starts from the beginning", self.said())
        self.assertIsNone(self.process.poll())

    @staticmethod
    def is_free(folder):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            return False
        finally:
            os.close(descriptor)

    def test_the_next_supervisor_removes_what_a_killed_one_left(self):
        self.world.write_text(self.world.read_text().replace(WORLD.splitlines()[-2].replace("SAVES", str(self.path / "saves")), ""))
        self.start("otolithd", "--supervise", self.world)
        first = self.until(self.running, "the world")
        stale, = self.path.glob("otolith-saves-*")
        self.until(lambda: list(stale.iterdir()), "a checkpoint in it")
        self.process.kill()
        self.process.wait(timeout=300)
        again = self.otolith("check", self.world)
        self.assertEqual(again.returncode, 0, again.stderr)
        other = subprocess.run([str(BIN / "otolithd"), "--supervise", "--check", str(self.world)], env=self.environment,
                               capture_output=True, text=True, timeout=300)
        self.assertEqual(other.returncode, 0, other.stderr)
        self.assertTrue(stale.exists())  # its server runs and holds it
        os.kill(first["pid"], signal.SIGTERM)
        self.until(lambda: self.is_free(stale), "the end of the server")
        self.start("otolithd", "--supervise", self.world)
        self.until(self.running, "the world")
        self.assertFalse(stale.exists())

    @staticmethod
    def state(pid, thread=None):
        """A list of one letter; empty once the process or the thread is gone."""
        return of_process(pid, "stat" if thread is None else f"task/{thread}/stat").rpartition(")")[2].split()[:1]

    def stop(self, pid):
        """Returns when no thread of the process runs any more."""
        os.kill(pid, signal.SIGSTOP)
        def stopped():
            return all(self.state(pid, thread) in ([], ["T"]) for thread in os.listdir(f"/proc/{pid}/task"))
        self.until(stopped, "the stop of all threads")

    def children(self, pid):
        return [int(child) for child in of_process(pid, f"task/{pid}/children").split()]

    def child_of(self, pid):
        return self.until(lambda: self.children(pid), "a child")[0]

    def stuck_child_of(self, pid):
        """The child in the plugin that does not return."""
        def stuck():
            return next((child for child in self.children(pid) if "hostile_prepare_loop" in of_process(child, "maps")), None)
        return self.until(stuck, "the plugin that does not return")

    def hang(self):
        """From now on no server ends its start."""
        self.world.write_text(self.world.read_text().replace("counter.so", "hostile_prepare_loop.so"))

    def interrupt(self, number=signal.SIGINT):
        self.process.send_signal(number)
        self.assertEqual(self.process.wait(timeout=300), 128 + number, self.said())

    def test_a_signal_ends_run_before_its_server_serves(self):
        self.hang()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.start("otolith", "run", self.world, "--quiet", "--for", "10s")
            child = self.stuck_child_of(self.child_of(self.process.pid))
            self.interrupt(number)
            self.assertFalse(pathlib.Path(f"/proc/{child}").exists())

    def test_a_signal_ends_run_while_its_server_starts_again(self):
        self.start("otolith", "run", self.world, "--quiet", "--csv", f"guarded/car/imu={self.path / 'imu.csv'}")
        first = self.until(self.running, "the world")["pid"]
        self.until(self.saved, "a checkpoint")
        parent = self.child_of(self.process.pid)
        self.hang()
        os.kill(first, signal.SIGKILL)
        child = self.stuck_child_of(parent)
        self.interrupt()
        self.assertFalse(pathlib.Path(f"/proc/{child}").exists())

    def test_a_server_does_not_outlive_a_parent_that_is_gone_already(self):
        for options in ((), ("--supervise",), ("--check",)):
            done = subprocess.run([BIN / "otolithd", *options, "--follow-parent=1", self.world], env=self.environment,
                                  capture_output=True, text=True, timeout=300)
            self.assertEqual((done.returncode, done.stderr), (1, ""), options)
        self.start("otolith", "run", self.world, "--quiet")
        server = self.until(self.running, "the world")["pid"]
        parent = self.child_of(self.process.pid)
        for pid, follows in ((parent, self.process.pid), (server, parent)):
            self.assertIn(f"--follow-parent={follows}\0", pathlib.Path(f"/proc/{pid}/cmdline").read_text())
        self.interrupt()

    def test_a_branch_that_is_interrupted_leaves_nothing(self):
        self.environment["TMPDIR"] = str(self.path)
        self.start("otolithd", self.world)
        server, world = self.process, self.until(self.running, "the world")
        try:
            folder = self.path / "bin"
            folder.mkdir()
            shutil.copy(OTOLITH, folder)
            (folder / "otolithd").write_text("#!/bin/sh\nexec sleep 1000\n")  # a server that never serves
            (folder / "otolithd").chmod(0o700)
            self.start(folder / "otolith", "branch", "twin")
            child = self.child_of(self.process.pid)
            self.interrupt()
            self.assertFalse(pathlib.Path(f"/proc/{child}").exists())
            self.assertEqual(list(self.path.glob("otolith-branch*")), [])
            self.assertEqual(self.running()["epoch"], world["epoch"])
        finally:
            server.terminate()
            server.wait(timeout=300)

    def test_run_ends_where_its_launcher_ignores_the_end_of_children(self):
        done = subprocess.run([OTOLITH, "run", self.world, "--quiet", "--mode", "asap", "--for", "1s"], env=self.environment, capture_output=True,
                              text=True, timeout=300, preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_check_that_is_killed_leaves_no_process(self):
        self.hang()
        self.start("otolith", "check", self.world)
        child = self.stuck_child_of(self.child_of(self.process.pid))
        self.process.kill()
        self.process.wait(timeout=300)
        self.until(lambda: not pathlib.Path(f"/proc/{child}").exists(), "the end of the check")

    def test_a_limit_of_file_sizes_is_an_error_with_a_sentence(self):
        done = subprocess.run([str(BIN / "otolithd"), str(self.world)], env=self.environment, capture_output=True, text=True,
                              timeout=300, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("File too large", done.stderr)

    def test_run_records_across_a_crash_without_a_gap(self):
        file = self.path / "imu.csv"
        self.start("otolith", "run", self.world, "--quiet", "--csv", f"guarded/car/imu={file}", "--for", "4s")
        first = self.until(self.running, "the world")
        self.until(self.saved, "a checkpoint")
        os.kill(first["pid"], signal.SIGSEGV)
        self.assertEqual(self.process.wait(timeout=300), 0, self.said())
        self.assertIn("died of SIGSEGV", self.said())
        with open(file, newline="") as rows:
            numbers = [int(row["seq"]) for row in csv.DictReader(rows)]
        self.assertEqual(numbers, list(range(1, 801)))
        whole = self.path / "whole.csv"
        done = self.otolith("run", self.world, "--quiet", "--mode", "asap", "--csv", f"guarded/car/imu={whole}", "--for", "4s")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(file.read_text(), whole.read_text())


if __name__ == "__main__":
    unittest.main(verbosity=2)
