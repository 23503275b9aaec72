"""The log of a run: a replay is bit-identical to the run, with all its inputs; verify reports the first difference of two runs."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN, EXAMPLES = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
OTOLITH = str(BIN / "otolith")

WORLD = """
world: told
seed: 5
clock: {rate_hz: 1000, mode: realtime}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - name: imu
        plugin: mems_imu
        rate_hz: 500
        params:
          accelerometer: {noise_density_m_s2_rthz: 0.002, bias_instability_m_s2: 0.001}
          gyroscope: {noise_density_rad_s_rthz: 0.0001}
        faults: [{kind: noise, value: 0.1, at_s: 0.2, for_s: 0.2}]
      - {name: odo, plugin: odometer, rate_hz: 100}
  - name: other
    motion: {plugin: motion_catr, params: {initial: {v_m_s: 3, w_rad_s: 0.1}}}
    nodes:
      - {name: sdf, plugin: sdf_imu, rate_hz: 50}
publish: false
"""

GIVEN = """
world: given
seed: 5
clock: {rate_hz: 1000, mode: lockstep}
participants: [{name: physics, timeout_ms: 60000, on_timeout: wait, wait_limit_s: 300}]
vehicles:
  - name: ball
    motion: {participant: physics}
    nodes: [{name: imu, plugin: mems_imu, rate_hz: 1000}]
publish: false
"""


class Replays(OtolithCase):
    program = OTOLITH

    def setUp(self):
        super().setUp()
        self.world = self.path / "world.yaml"
        self.world.write_text(WORLD)
        self.log = self.path / "run.log"
        self.processes = []

    def tearDown(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(timeout=PATIENCE_S)
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        super().tearDown()

    def otolith(self, *arguments, code=0):
        done = self.call(*arguments)
        self.assertEqual(done.returncode, code, f"otolith {arguments}: {done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr + done.stdout

    def start(self, world, *options):
        file = [] if "--replay" in options else [self.world]  # a log names its own
        process = subprocess.Popen([str(BIN / "otolithd"), *map(str, [*file, *options])], env=self.environment,
                                   stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        self.until_of(process, lambda: self.call("ls", "--world", world).returncode == 0, "the world")
        return process

    def until_of(self, process, condition, what):
        def holds():
            self.assertIsNone(process.poll(), f"the server ended before {what}")
            return condition()

        self.until(holds, what)

    def end(self, process):
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, said)

    def entries(self, log=None):
        text = (log or self.log).read_text()
        return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]  # whole lines

    def actions(self, log=None):
        return [(e["entry"], e["tick"]) for e in self.entries(log)
                if e["entry"] in ("set", "swap", "undo", "slow", "cancel", "fault", "clear_faults", "input")]

    def wait_until_tick(self, tick, process):
        self.until_of(process, lambda: self.newest() >= tick, f"tick {tick}")

    def newest(self):
        ticks = [0]
        for line in self.log.read_text().splitlines()[:-1]:
            ticks.append(json.loads(line).get("tick", 0))
        return ticks[-1]

    def replay(self, *options, code=0, log=None):
        again = self.path / "again.log"
        said = self.call("run", "--replay", log or self.log, "--quiet", "--mode", "asap", "--log", again, *options)
        self.assertEqual(said.returncode, code, said.stderr)
        return again, said.stderr

    def assert_same(self, again):
        seen = json.loads(self.otolith("verify", self.log, again, "--json"))
        self.assertTrue(seen["same"])
        self.assertEqual(self.actions(), self.actions(again))
        self.assertEqual(self.entries()[-1], self.entries(again)[-1], "the end")
        return seen

    def test_a_run_that_nobody_touched_is_the_same_again(self):
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "2s", "--log", self.log)
        again, said = self.replay()
        self.assertIn("the same as logged", said)
        self.assertGreater(self.assert_same(again)["compared"], 2)

    def test_a_replay_may_be_watched_and_not_changed(self):
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "2s", "--log", self.log)
        again = self.path / "again.log"
        server = self.start("told", "--replay", self.log, "--mode", "step", "--log", again)
        self.otolith("step", 100)
        for change in (("set", "car/imu", "gyroscope.constant_bias_rad_s", "[0.5, 0, 0]"), ("swap", "car/imu", "sdf_imu"),
                       ("fault", "car/odo", "bias", "3"), ("fault", "car/odo", "--clear"), ("restore", self.log)):
            self.assertIn("this is a replay, which continues as its log does", self.otolith(*change, code=1))
        self.otolith("get", "car/imu")
        self.otolith("checkpoint", self.path / "at.ckpt")
        self.otolith("step", 1900)
        self.assertIn("the same as logged", server.communicate(timeout=PATIENCE_S)[1])
        self.assert_same(again)

    def test_sets_swaps_and_faults_come_again_at_their_ticks(self):
        server = self.start("told", "--log", self.log, "--log-hashes", "10")
        self.otolith("set", "car/imu", "gyroscope.constant_bias_rad_s", "[0.5, 0, 0]")
        self.otolith("fault", "car/odo", "bias", "3", "--for", "100ms")
        self.otolith("swap", "car/imu", "sdf_imu", "--probation", "50ms", "--wait")
        self.otolith("fault", "car/imu", "stuck")
        self.otolith("swap", "car/imu", "mems_imu", "--probation", "0s")
        self.otolith("set", "car/imu", "gyroscope.constant_bias_rad_s", "[0, 0.25, 0]")
        self.otolith("fault", "car/imu", "--clear")
        self.otolith("swap", "car/odo", "odometer", "--shadow", "30ms", "--probation", "20ms", "--wait")
        self.otolith("swap", "other/sdf", "sdf_imu", "--probation", "100s")
        self.otolith("swap", "other/sdf", "--undo")
        self.end(server)
        self.assertEqual([name for name, _ in self.actions()],
                         ["set", "fault", "swap", "fault", "swap", "set", "clear_faults", "swap", "swap", "undo"])
        again, said = self.replay("--log-hashes", "10")
        self.assertIn("10 actions: the same as logged", said)
        self.assert_same(again)

    def test_a_motion_that_is_swapped_while_the_clock_runs_is_the_same_again(self):
        server = self.start("told", "--log", self.log, "--log-hashes", "5")
        self.otolith("swap", "car/motion", "motion_catr", "--probation", "0s")
        self.wait_until_tick(100, server)
        self.otolith("swap", "car/motion", "motion_script", "--probation", "20ms", "--wait")
        self.end(server)
        again, _ = self.replay()
        self.assert_same(again)

    def test_what_a_participant_gave_is_replayed_without_it(self):
        self.world.write_text(GIVEN)
        server = self.start("given", "--log", self.log)
        physics = subprocess.Popen([str(EXAMPLES / "example_physics_process"), "500"],
                                   env=dict(self.environment, OTOLITH_WORLD="given"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.processes.append(physics)
        said = physics.communicate(timeout=PATIENCE_S)
        self.assertEqual(physics.returncode, 0, said)
        # The participant does not wait for the server to make its last tick.
        self.until_of(server, lambda: len(self.actions()) >= 500, "its 500 inputs")
        self.end(server)
        again, said = self.replay()
        self.assertIn("the same as logged", said)
        self.assert_same(again)

    def test_ticks_that_went_on_without_an_answer_are_replayed_as_they_were(self):
        self.world.write_text(GIVEN.replace("timeout_ms: 60000, on_timeout: wait", "timeout_ms: 20, on_timeout: hold")
                              .replace("mode: lockstep", "mode: lockstep, paced: true"))
        server = self.start("given", "--log", self.log, "--log-hashes", "20")
        self.wait_until_tick(40, server)
        physics = subprocess.Popen([str(EXAMPLES / "example_physics_process"), "100"],
                                   env=dict(self.environment, OTOLITH_WORLD="given"), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.processes.append(physics)
        said = physics.communicate(timeout=PATIENCE_S)
        self.assertEqual(physics.returncode, 0, said)
        self.otolith("set", "ball/imu", "gyroscope.constant_bias_rad_s", "[0.5, 0, 0]", "--world", "given")
        self.end(server)
        inputs = [entry for entry in self.entries() if entry["entry"] == "input"]
        self.assertTrue(any(entry.get("held") for entry in inputs))
        self.assertTrue(any("truth" in entry for entry in inputs))
        again, said = self.replay()
        self.assertIn("1 actions: the same as logged", said)
        self.assert_same(again)

    def test_an_estimator_that_warms_up_and_a_swap_that_is_taken_back_late_are_the_same_again(self):
        self.world.write_text(WORLD.replace("      - {name: odo,", """      - {name: slow, plugin: mount_calibration, rate_hz: 7,
         inputs: {imu: imu, speed: odo}}
      - {name: odo,"""))
        server = self.start("told", "--log", self.log, "--log-hashes", "10")
        self.otolith("set", "car/imu", "gyroscope.constant_bias_rad_s", "[0.5, 0, 0]")
        self.otolith("swap", "car/imu", "mems_imu", "--probation", "10ms", "--reset-state", "--wait")
        self.otolith("swap", "car/imu", "--undo", "--probation", "10ms", "--wait")
        self.otolith("swap", "car/slow", "mount_calibration", "--reset-state", "--probation", "50ms", "--wait")
        self.end(server)
        self.assertEqual([name for name, _ in self.actions()], ["set", "swap", "swap", "swap"])
        self.assertEqual([e["shadow_ticks"] for e in self.entries() if e["entry"] == "swap"], [0, 0, 1000])
        again, said = self.replay()
        self.assertIn("4 actions: the same as logged", said)
        self.assert_same(again)

    def test_a_run_from_a_checkpoint_is_replayed_from_it(self):
        saved = self.path / "saved.ckpt"
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--checkpoint", saved)
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--restore", saved, "--log", self.log)
        again, said = self.replay()
        self.assertIn("replayed 1000 ticks", said)
        self.assert_same(again)
        saved.write_bytes(saved.read_bytes() + b"x")
        _, said = self.replay(code=1)
        self.assertIn("not the file of the log any more", said)

    def test_a_restored_run_that_made_no_tick_is_replayed_and_its_clock_is_that_of_the_checkpoint(self):
        saved = self.path / "saved.ckpt"
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--checkpoint", saved)
        server = self.start("told", "--restore", saved, "--mode", "step", "--log", self.log)
        self.end(server)
        self.assertEqual((self.entries()[-1]["entry"], self.entries()[-1]["tick"]), ("end", 1000))
        again, said = self.replay()
        self.assertIn("replayed 0 ticks and 0 actions: the same as logged", said)
        self.assert_same(again)
        paused = self.start("told", "--replay", self.log, "--start-paused")  # it ends after its resume, also without a tick to make
        self.otolith("resume")
        self.assertIn("replayed 0 ticks", paused.communicate(timeout=PATIENCE_S)[1])
        self.assertEqual(paused.returncode, 0)

    def test_a_run_that_went_back_to_a_checkpoint_has_a_log_of_its_own(self):
        saved = self.path / "saved.ckpt"
        server = self.start("told", "--log", self.log)
        self.otolith("checkpoint", saved)
        self.otolith("set", "car/imu", "gyroscope.constant_bias_rad_s", "[0.5, 0, 0]")
        self.otolith("restore", saved)
        second = self.path / "run.log.1"
        self.until_of(server, second.exists, "the second run")
        self.until_of(server, lambda: self.call("set", "car/imu", "gyroscope.constant_bias_rad_s", "[0.1, 0, 0]").returncode == 0,
                      "the second run")
        self.end(server)
        for log in (self.log, second):
            _, said = self.replay(log=log)
            self.assertIn("1 actions: the same as logged", said)

    def test_a_swap_that_was_too_slow_for_real_time_is_taken_back_at_the_same_tick_again(self):
        server = self.start("told", "--log", self.log, "--log-hashes", "10")
        self.otolith("set", "car/imu", "gyroscope.constant_bias_rad_s", "[0.5, 0, 0]")
        self.otolith("swap", "car/imu", "mems_imu", "--reset-state", "--probation", "100s", "--budget", "1ns")
        self.until_of(server, lambda: "slow" in [name for name, _ in self.actions()], "the end of the probation")
        self.end(server)
        self.assertEqual([name for name, _ in self.actions()], ["set", "swap", "slow"])
        slow = self.entries()[self.index("slow")]
        self.assertEqual((slow["node"], sorted(slow)), ("car/imu", ["entry", "node", "tick"]))
        again, said = self.replay("--log-hashes", "10")  # as fast as can be, without a budget
        self.assertIn("3 actions: the same as logged", said)
        self.assertTrue(json.loads(self.otolith("verify", self.log, again, "--json"))["same"])
        self.assertEqual(self.actions(again)[-1], ("undo", slow["tick"]))

    def index(self, entry):
        return [e["entry"] for e in self.entries()].index(entry)

    def test_a_log_that_lost_records_says_so(self):
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--log", self.log)
        again, _ = self.replay()
        lines = self.log.read_text().splitlines()
        self.log.write_text("\n".join(lines[:-1] + ['{"entry": "lost", "records": 3}', lines[-1]]) + "\n")
        self.assertTrue(json.loads(self.otolith("verify", self.log, again, "--json"))["incomplete"])
        self.assertIn("a log is incomplete", self.otolith("verify", self.log, again))
        _, said = self.replay()
        self.assertIn("incomplete", said)

    def saved(self):
        """The ticks of the checkpoints, oldest first. The supervisor may not know the newest yet, but it knows those before."""
        return sorted(int(path.stem.split("-")[1]) for path in self.path.glob("otolith-saves-*/told-*.ckpt"))

    def crash(self):
        """A supervised run with a log, whose server is killed behind its second checkpoint; the log of the next server."""
        process = subprocess.Popen([OTOLITH, "run", str(self.world), "--quiet", "--for", "8s", "--log", str(self.log),
                                    "--log-hashes", "10"], env=self.environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        facts = self.path / "otolith" / "told" / "server.json"

        def has_passed():
            saved = self.saved()
            return facts.exists() and self.log.exists() and len(saved) > 1 and saved[-1] < self.newest() - 100

        def stops_behind():  # or there might be the next checkpoint before it is killed
            if not has_passed():
                return False
            server = json.loads(facts.read_text())["pid"]
            os.kill(server, signal.SIGSTOP)
            still = has_passed()
            os.kill(server, signal.SIGKILL if still else signal.SIGCONT)
            return still

        self.until_of(process, stops_behind, "a checkpoint that the log has passed")
        _, said = process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 0, said)
        self.assertIn("died of SIGKILL", said)
        return self.path / "run.log.1"

    def test_a_run_that_crashed_has_two_logs_that_agree_and_each_is_replayed(self):
        second = self.crash()
        first, later = self.entries(), self.entries(second)
        self.assertNotIn("end", [entry["entry"] for entry in first])
        self.assertEqual((later[-1]["entry"], later[-1]["tick"]), ("end", 8000))
        begins = next(entry for entry in later if entry["entry"] == "restore")
        self.assertEqual(begins["file"], os.path.realpath(f"{second}.ckpt"))  # the other went with the parent
        self.assertFalse(list(self.path.glob("otolith-saves-*")))
        seen = json.loads(self.otolith("verify", self.log, second, "--json"))
        self.assertTrue(seen["same"])
        self.assertGreaterEqual(seen["compared"], 9)
        for log in (self.log, second):
            again, said = self.replay("--log-hashes", "10", log=log)
            self.assertIn("the same as logged", said)
            self.assertTrue(json.loads(self.otolith("verify", log, again, "--json"))["same"])

    def test_another_world_file_is_refused_but_for_one_who_insists(self):
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--log", self.log)
        self.world.write_text(WORLD.replace("seed: 5", "seed: 6"))
        _, said = self.replay(code=1)
        self.assertIn("--replay-anyway", said)
        again, said = self.replay("--replay-anyway", code=1)
        self.assertIn("NOT what was logged", said)
        self.assertIn("at tick 0", said)
        self.assertIn("differ at tick 0", self.otolith("verify", self.log, again, code=1))

    def test_options_that_would_make_another_run_are_refused(self):
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--log", self.log)
        for option in (("--seed", "3"), ("--set", "seed=3"), ("--rate", "500")):
            done = self.call("run", "--replay", self.log, "--quiet", *option)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("another run", done.stderr)

    def test_values_that_were_set_on_the_command_line_are_set_again(self):
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--seed", "9", "--set",
                     "vehicles.car.nodes.odo.rate_hz=50", "--log", self.log)
        again, _ = self.replay()
        self.assert_same(again)

    def test_verify_names_the_tick_and_the_node(self):
        other = self.path / "other.log"
        common = ("--quiet", "--mode", "asap", "--for", "1s", "--log-hashes", "1")
        self.otolith("run", self.world, *common, "--log", self.log)
        fault = "vehicles.car.nodes.odo.faults=[{kind: bias, value: 1, at_s: 0.5}]"
        self.otolith("run", self.world, *common, "--set", fault, "--log", other)
        done = self.call("verify", self.log, other, "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        seen = json.loads(done.stdout)
        self.assertEqual(seen["first_difference"], {"tick": 500, "nodes": ["car/odo"]})
        self.assertEqual(seen["same_until"], 499)
        self.assertIn("differ at tick 500 in car/odo; the same through tick 499", self.otolith("verify", self.log, other,
                                                                                            code=1))

    def test_a_log_that_was_cut_off_is_replayed_as_far_as_it_goes(self):
        server = self.start("told", "--log", self.log, "--log-hashes", "10")
        self.otolith("set", "car/imu", "gyroscope.constant_bias_rad_s", "[0.5, 0, 0]")
        self.wait_until_tick(400, server)
        server.kill()
        server.wait(timeout=PATIENCE_S)
        with self.log.open("a") as file:
            file.write('{"entry": "hash')
        again, said = self.replay("--log-hashes", "10")
        self.assertIn("cut off", said)
        self.assertIn("the same as logged", said)
        self.assertTrue(json.loads(self.otolith("verify", self.log, again, "--json"))["same"])

    def test_a_damaged_log_is_refused_by_line(self):
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--log", self.log)
        lines = self.log.read_text().splitlines()
        for wrong, words in ((["no log"], "line 1"), (lines[:4] + ['{"entry": }'] + lines[4:], "line 5"),
                             (lines[:3], "ends before its run begins"),
                             (['{"entry": "header", "format": "otolith-log", "version": 9}'], "version 9"),
                             (lines[:-1] + ['{"entry": "set", "tick": 1, "node": "car/imu"}'], "order of ticks"),
                             (lines + ['{"entry": "set", "tick": 1000, "node": "car/imu"}'], "'key' of 'set'")):
            self.assert_refused(wrong, words)

    def assert_refused(self, lines, words):
        bad = self.path / "bad.log"
        bad.write_text("\n".join(lines) + "\n")
        _, said = self.replay(code=1, log=bad)
        self.assertIn(words, said)

    def test_an_action_that_cannot_be_made_ends_the_replay_and_says_why(self):
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--log", self.log)
        lines = self.log.read_text().splitlines()
        begin = [number for number, line in enumerate(lines) if '"tick": 1000' in line][0]
        for entry, words in (('"undo", "tick": 3, "node": "car/imux"', "did you mean 'car/imu'"),
                             ('"input", "tick": 3, "participant": 0, "vehicle": 0, "held": true', "no such participant"),
                             ('"input", "tick": 3, "participant": 4294967296, "vehicle": 0, "held": true', "not whole"),
                             ('"hashes", "tick": 3, "chain": "12", "nodes": ""', "hashes are not whole"),
                             ('"fault", "tick": 3, "node": "car/imu", "fault": 9, "spec": "{kind: zzz}"', "got 'zzz'"),
                             ('"swap", "tick": 3, "node": "car/imu", "file": "/no.so", "file_hash": "0000000000000000"',
                              "cannot open plugin '/no.so'")):
            self.assert_refused(lines[:begin] + ['{"entry": ' + entry + '}'] + lines[begin:], words)


if __name__ == "__main__":
    unittest.main(verbosity=2)
