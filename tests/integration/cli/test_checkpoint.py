"""Checkpoints: run(N + M) is run(N), save, restore, run(M) to the last bit; damage is refused; branches and restores continue."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BIN, PLUGINS, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
OTOLITH = str(BIN / "otolith")
needs_hosts = unittest.skipUnless((BIN / "otolith-plugin-host").exists(), "this build has no plugin hosts")

WORLD = """
world: saved
seed: 77
clock: {rate_hz: 1000, mode: asap}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - name: imu
        plugin: mems_imu
        rate_hz: 300
        fifo_samples: 7
        params:
          taps: true
          band_limit_hz: 50
          accelerometer: {noise_density_m_s2_rthz: 0.002, bias_instability_m_s2: 0.001, random_walk_m_s2_rthz: 0.0001}
          gyroscope: {noise_density_rad_s_rthz: 0.0001}
        faults:
          - {kind: delay, value: 0.05, at_s: 1.8, for_s: 1}
          - {kind: noise, value: 0.1, at_s: 2.5, for_s: 0.2}
          - {kind: dropout, at_s: 4.5, for_s: 0.1}
      - {name: odo, plugin: odometer, rate_hz: 100}
      - {name: slow, plugin: mount_calibration, rate_hz: 7, inputs: {imu: imu, speed: odo}}
  - name: other
    motion: {plugin: motion_catr, params: {initial: {v_m_s: 3, w_rad_s: 0.1}}}
    nodes:
      - {name: sdf, plugin: sdf_imu, rate_hz: 50}
publish: false
"""


class Worlds(unittest.TestCase):
    text = WORLD

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-save-")
        self.path = pathlib.Path(self.directory.name)
        os.chmod(self.path, 0o700)
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.path), TMPDIR=str(self.path))
        self.environment.pop("OTOLITH_WORLD", None)
        self.world = self.path / "world.yaml"
        self.world.write_text(self.text)
        self.server = None

    def tearDown(self):
        if self.server is not None:
            self.server.terminate()
            self.server.wait(timeout=300)
        self.directory.cleanup()

    def otolith(self, *arguments, code=0):
        done = subprocess.run([OTOLITH, *map(str, arguments)], env=self.environment, capture_output=True, text=True,
                              timeout=300)
        self.assertEqual(done.returncode, code, f"otolith {arguments}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def run_world(self, *options):
        summary = self.path / "summary.json"
        self.otolith("run", self.world, "--quiet", "--summary", summary, *options)
        return json.loads(summary.read_text())

    def start(self, *options):
        self.server = subprocess.Popen([str(BIN / "otolithd"), str(self.world), *options], env=self.environment,
                                       stderr=subprocess.DEVNULL)
        self.until(lambda: subprocess.run([OTOLITH, "ls", "--world", "saved"], env=self.environment, capture_output=True,
                                          timeout=300).returncode == 0, "the world")

    def until(self, condition, what):
        deadline = time.monotonic() + 300
        while not condition():
            if self.server is not None:
                self.assertIsNone(self.server.poll(), f"the server ended before {what}")
            self.assertLess(time.monotonic(), deadline, f"waited too long for {what}")
            time.sleep(0.01)

    def clock_hash(self):
        file = self.path / "hash.ckpt"
        self.otolith("checkpoint", file)
        return file.read_bytes()[16:32].hex()  # tick and hash chain

    def epoch(self):
        facts = self.path / "otolith" / "saved" / "server.json"
        try:
            return json.loads(facts.read_text())["epoch"]
        except (OSError, ValueError):
            return None


class GoesOn:
    """What holds for any world."""
    def test_a_run_goes_on_to_the_last_bit(self):
        whole = self.run_world("--for", "5s")
        for part in ("0.5s", "2s", "2.6s", "4.55s"):
            file = self.path / "part.ckpt"
            self.run_world("--for", part, "--checkpoint", file)
            rest = f"{5 - float(part[:-1]):.3f}s"
            self.assertEqual(self.run_world("--for", rest, "--restore", file)["state_hash"], whole["state_hash"], part)

    def test_samples_go_on_with_their_numbers(self):
        file = self.path / "part.ckpt"
        self.run_world("--for", "2s", "--checkpoint", file)
        csv = self.path / "imu.csv"
        self.otolith("run", self.world, "--quiet", "--for", "0.5s", "--restore", file, "--csv", f"saved/car/imu={csv}")
        whole = self.path / "whole.csv"
        self.otolith("run", self.world, "--quiet", "--for", "2.5s", "--csv", f"saved/car/imu={whole}")
        rows, all_rows = csv.read_text().splitlines(), whole.read_text().splitlines()
        self.assertGreater(len(rows), 100)
        self.assertEqual(rows[1:], all_rows[-len(rows) + 1:])

    def test_what_was_restored_is_in_the_next_checkpoint_too(self):
        self.start("--mode", "step")
        self.otolith("step", 100)
        self.otolith("set", "car/imu", "gyroscope.constant_bias_rad_s", "[0.5, 0, 0]")
        self.otolith("swap", "other/sdf", PLUGINS / "mems_imu.so", "--probation", "0s")
        first, second = self.path / "first.ckpt", self.path / "second.ckpt"
        self.otolith("checkpoint", first)
        self.run_world("--for", "1s", "--restore", first, "--set", "world=again", "--checkpoint", second)
        self.assertEqual(self.run_world("--for", "2s", "--restore", first, "--set", "world=again")["state_hash"],
                         self.run_world("--for", "1s", "--restore", second, "--set", "world=again")["state_hash"])

    def test_ports_that_a_swap_brought_without_a_channel_stay_without(self):
        self.start("--mode", "step")
        self.otolith("step", 100)
        self.otolith("swap", "other/sdf", PLUGINS / "mems_imu.so", "--probation", "0s")
        first, second = self.path / "first.ckpt", self.path / "second.ckpt"
        self.otolith("checkpoint", first)
        self.otolith("step", 1000)
        self.otolith("checkpoint", second)
        ends = [self.run_world("--for", time, "--restore", file, "--set", "world=again")
                for time, file in (("2s", first), ("1s", second))]
        self.assertEqual(ends[0]["state_hash"], ends[1]["state_hash"])
        self.assertEqual(ends[0]["ticks"], 2100)

    def test_a_running_world_goes_back_and_on(self):
        self.start("--mode", "step")
        file = self.path / "live.ckpt"
        self.otolith("step", 1500)
        self.otolith("checkpoint", file)
        self.otolith("step", 500)
        before = self.clock_hash()
        epoch = self.epoch()
        held = os.open(self.path / "otolith" / "saved", os.O_RDONLY | os.O_DIRECTORY)
        self.addCleanup(os.close, held)
        self.otolith("restore", file)
        self.assertGreater(os.fstat(held).st_nlink, 0)  # the world's directory and its lock stay
        self.assertNotIn(self.epoch(), (None, epoch))  # the reply is sent when the new run accepts clients
        self.otolith("step", 500)
        self.assertEqual(self.clock_hash(), before)
        self.assertIn("cannot be read", self.otolith("restore", self.path / "no.ckpt", code=1))
        self.otolith("step", 1)
        # A well-formed checkpoint of another world is refused, and the world continues.
        other = self.path / "other.yaml"
        other.write_text(self.world.read_text().replace("seed: 77", "seed: 78"))
        strange = self.path / "strange.ckpt"
        self.otolith("run", other, "--quiet", "--set", "world=stranger", "--for", "1s", "--checkpoint", strange)
        self.assertIn("the seed of the world", self.otolith("restore", strange, code=1))
        self.otolith("step", 1)


    def test_a_checkpoint_may_be_removed_once_it_is_restored(self):
        log = self.path / "run.log"
        self.start("--mode", "step", "--supervise", "--log", log)
        self.otolith("step", 300)
        whole, file = self.path / "whole.ckpt", self.path / "live.ckpt"
        self.otolith("checkpoint", whole)
        before = self.clock_hash()
        for _ in range(3):
            shutil.copy(whole, file)
            self.otolith("restore", file)
            file.unlink()
            self.assertEqual(self.clock_hash(), before)
        # Nor does a crash before the first save need it.
        epoch = self.epoch()
        os.kill(json.loads((self.path / "otolith" / "saved" / "server.json").read_text())["pid"], signal.SIGKILL)
        self.until(lambda: self.epoch() not in (None, epoch), "the next run")
        self.otolith("step", 1)
        self.otolith("checkpoint", file)
        self.assertEqual(int.from_bytes(file.read_bytes()[16:24], "little"), 301)


class StandIns:
    """Checkpoints taken after swaps."""

    def samples(self):
        """By topic, of all that were ever filled; events tell of clients."""
        listing, = json.loads(self.otolith("ls", "--world", "saved", "--json"))
        return {row["topic"]: row["samples"] for row in listing["topics"] if "@" not in row["topic"]}

    def restart(self, checkpoint):
        self.server.terminate()
        self.server.wait(timeout=300)
        self.start("--mode", "step", "--restore", checkpoint)

    def test_a_world_restored_while_another_plugin_stands_in_has_its_own_channels(self):
        ends = []
        for undo in (False, True):
            with self.subTest(undo=undo):
                ends.append(self.swap_save_and_swap_back(undo))
                self.server.terminate()
                self.server.wait(timeout=300)
        self.assertEqual(ends[0], ends[1])  # back by name or by --undo: the same

    def swap_save_and_swap_back(self, undo):
        swaps = (("car/imu", "mems_imu", "sdf_imu"),
                 ("other/sdf", "sdf_imu", "mems_imu", "--part", "tdk/icm-42688-p", "--unit", 3))
        file, again = self.path / "swapped.ckpt", self.path / "again.ckpt"
        self.start("--mode", "step")
        self.otolith("step", 500)
        for node, _, *other in swaps:
            self.otolith("swap", node, *other, "--probation", "0s")
        self.otolith("set", "other/sdf", "accelerometer.constant_bias_m_s2", "[1, 0, 0]")
        self.otolith("step", 300)
        self.otolith("checkpoint", file)
        saved = self.samples()
        self.assertIn("saved/car/imu.taps", saved)

        def go_on(ticks):
            if ticks > 0:
                self.otolith("step", ticks)
                self.otolith("checkpoint", again)
            for node, own, *_ in swaps:
                self.otolith("swap", node, "--undo" if undo else own, "--probation", "0s")
            self.otolith("step", 700)
            return self.clock_hash(), self.samples()

        whole = go_on(200)
        self.assertGreater(whole[1]["saved/car/imu.taps"], saved["saved/car/imu.taps"])
        self.restart(file)
        self.assertEqual(self.samples(), saved)
        self.assertEqual(go_on(200), whole)
        self.restart(again)  # saved by a run that was restored itself
        self.assertEqual(go_on(0), whole)
        return whole


class Checkpoints(GoesOn, StandIns, Worlds):
    def test_restores_do_not_make_the_server_larger(self):
        self.start("--mode", "step", "--log", self.path / "run.log")
        file = self.path / "live.ckpt"
        self.otolith("checkpoint", file)
        self.otolith("restore", file)
        maps = pathlib.Path(f"/proc/{self.server.pid}/maps").read_text()
        if re.search("lib[at]san", maps):
            self.skipTest("a sanitizer's allocator keeps what was freed")
        before = self.heap_kib()
        for _ in range(9):
            self.otolith("restore", file)
        # Two runs exist at once in a restore, so the first few add up to 1 MiB. Heaps with holes grew by 3.5 MiB.
        self.assertLess(self.heap_kib(), before + 2048)

    def heap_kib(self):
        return int(re.search(r"RssAnon:\s+(\d+)", pathlib.Path(f"/proc/{self.server.pid}/status").read_text())[1])

    def test_what_was_changed_while_it_ran_is_there_again(self):
        self.start("--mode", "realtime")
        self.otolith("set", "car/imu", "gyroscope.constant_bias_rad_s", "[0.5, 0, 0]")
        self.otolith("swap", "other/sdf", PLUGINS / "sdf_imu.so", "--probation", "0s")
        file = self.path / "live.ckpt"
        tick = json.loads(self.otolith("checkpoint", file, "--json"))["tick"]
        self.assertGreater(tick, 0)
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        first = self.run_world("--for", "1s", "--restore", file, "--set", "world=again")
        second = self.run_world("--for", "1s", "--restore", file, "--set", "world=again")
        self.assertEqual(first["state_hash"], second["state_hash"])
        self.assertEqual(first["ticks"], tick + 1000)
        self.assertGreater(first["topics"]["again/car/imu"]["last"]["angular_velocity"]["x"], 0.3)

    def test_a_branch_goes_its_own_way_from_the_same_state(self):
        self.start("--mode", "step")
        self.otolith("step", 1000)
        out = self.otolith("branch", "twin", "--mode", "asap", "--for", "2s", "--set",
                           "vehicles.car.nodes.imu.params.gyroscope.constant_bias_rad_s=[1, 0, 0]", "--stay")
        self.assertIn("world 'twin' starts at tick 1000", out)
        self.otolith("step", 10)

    def test_damage_is_refused_wherever_it_is(self):
        file = self.path / "whole.ckpt"
        self.run_world("--for", "1s", "--checkpoint", file)
        good = file.read_bytes()
        bad = self.path / "bad.ckpt"
        places = [0, 9, 17, 33, 41, 49, 57, 65, 81, 120, len(good) // 2, len(good) - 9]
        for place in places:
            damaged = bytearray(good)
            damaged[place] ^= 1
            bad.write_bytes(damaged)
            self.assertRegex(self.otolith("run", self.world, "--quiet", "--for", "1s", "--restore", bad, code=1),
                             "damaged|no checkpoint|version", place)
        for length in (0, 1, 79, 80, 100, len(good) - 8, len(good) - 1):
            bad.write_bytes(good[:length])
            self.otolith("run", self.world, "--quiet", "--for", "1s", "--restore", bad, code=1)
        bad.write_bytes(good + bytes(8))
        self.otolith("run", self.world, "--quiet", "--for", "1s", "--restore", bad, code=1)
        bad.unlink()
        bad.mkdir()
        self.otolith("run", self.world, "--quiet", "--for", "1s", "--restore", bad, code=1)

    def test_another_world_is_refused_with_what_differs(self):
        file = self.path / "whole.ckpt"
        self.run_world("--for", "1s", "--checkpoint", file)
        for old, new, words in (("seed: 77", "seed: 78", "the seed of the world"),
                                ("rate_hz: 1000", "rate_hz: 500", "the clock's rate"),
                                ("name: odo,", "name: wheel,", "another world"),
                                ("{name: odo, plugin: odometer", "{name: odo, plugin: magnetometer", "ran plugin 'odometer'")):
            self.world.write_text(WORLD.replace(old, new).replace("speed: odo", "speed: wheel" if "wheel" in new else "speed: odo"))
            if "magnetometer" in new:
                self.world.write_text(WORLD.replace(old, new).split("      - {name: slow")[0] + "publish: false\n")
            answer = self.otolith("run", self.world, "--quiet", "--for", "1s", "--restore", file, code=1)
            self.assertTrue(words in answer or "another world" in answer, answer)

    def tick_faults(self):
        """Page faults of the tick thread so far that needed no disk."""
        for task in pathlib.Path(f"/proc/{self.server.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has just ended
                if (task / "comm").read_text().strip() == "otolith-tick":
                    return int((task / "stat").read_text().rsplit(")", 1)[1].split()[7])
        return self.fail("there is no thread otolith-tick")

    def test_the_tick_thread_copies_into_memory_that_is_there(self):
        if re.search(rb"__[at]san_init", (BIN / "otolithd").read_bytes()):
            self.skipTest("a sanitizer's shadow of that memory has pages of its own")
        nodes = "".join(f"      - {{name: slow{i}, plugin: mount_calibration, rate_hz: 7, inputs: {{imu: imu, speed: odo}}}}\n"
                        for i in range(12))
        self.world.write_text(WORLD.replace("mode: asap", "mode: step").replace("  - name: other", nodes + "  - name: other"))
        self.start()
        self.otolith("step", "100", "--world", "saved")
        before = self.tick_faults()
        file = self.path / "large.ckpt"
        self.otolith("checkpoint", file, "--world", "saved")
        pages = file.stat().st_size // 4096
        self.assertGreater(pages, 250)
        self.assertLess(self.tick_faults() - before, pages // 4)

    def test_periodic_checkpoints_are_kept_few(self):
        folder = self.path / "saves"
        self.world.write_text(WORLD + f"checkpoint: {{every_s: 0.2, keep: 2, directory: {folder}}}\n")
        self.start("--mode", "realtime")
        self.until(lambda: folder.is_dir() and len(list(folder.glob("saved-*.ckpt"))) >= 2, "two checkpoints")
        first = max(folder.glob("saved-*.ckpt"))
        self.until(lambda: folder.is_dir() and max(folder.glob("saved-*.ckpt")) > first, "a newer one")
        self.server.terminate()
        self.server.wait(timeout=300)
        files = sorted(folder.glob("*"))
        self.assertLessEqual(len(files), 3)
        self.assertTrue(all(file.name.endswith(".ckpt") for file in files), files)
        copy = self.path / "copy.ckpt"
        shutil.copy(files[-1], copy)
        self.world.write_text(self.text)
        self.run_world("--for", "0.1s", "--restore", copy)


def isolated(mode):
    """The same world in plugin hosts: sensors together, an estimator, and one alone that is always waited for."""
    text = WORLD.replace("fifo_samples: 7", f"fifo_samples: 7\n        isolation: {{process: lab, mode: {mode}}}")
    for plugin, host in (("odometer, rate_hz: 100", "lab"), ("mount_calibration, rate_hz: 7", "slow")):
        text = text.replace(plugin, f"{plugin}, isolation: {{process: {host}, mode: {mode}}}")
    return text.replace("sdf_imu, rate_hz: 50", "sdf_imu, rate_hz: 50, isolation: process")


@needs_hosts
class SyncCheckpoints(GoesOn, StandIns, Worlds):
    text = isolated("sync")


@needs_hosts
class AsyncCheckpoints(GoesOn, Worlds):
    text = isolated("async")

    def test_a_world_without_such_hosts_is_another_one(self):
        file = self.path / "part.ckpt"
        for saved, restored, words in ((isolated("async"), WORLD, "is 3 in the checkpoint and 0 in this world"),
                                       (WORLD, isolated("async"), "is 0 in the checkpoint and 3 in this world")):
            self.world.write_text(saved)
            self.run_world("--for", "1s", "--checkpoint", file)
            self.world.write_text(restored)
            self.assertIn(words, self.otolith("run", self.world, "--quiet", "--for", "1s", "--restore", file, code=1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
