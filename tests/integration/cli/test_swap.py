"""otolith swap as a new user types it: another sensor and back, from a rebuilt file, tried in the shadow, taken back."""
import json
import pathlib
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN, PLUGINS = (pathlib.Path(sys.argv.pop(1)) for _ in range(2))
OTOLITH = str(BIN / "otolith")
needs_hosts = unittest.skipUnless((BIN / "otolith-plugin-host").exists(), "this build has no plugin hosts")

WORLD = """
world: swaptest
seed: 7
clock: {{rate_hz: 1000, mode: realtime}}
vehicles:
  - name: car
    motion: {{plugin: motion_script}}
    nodes:
      - {{name: imu, plugin: mems_imu, rate_hz: 200, isolation: {in_imu}}}
      - {{name: mag, plugin: magnetometer, rate_hz: 50, isolation: {in_mag}}}
      - {{name: watched, plugin: {watched}, rate_hz: 100, watch: true, isolation: {in_watched}}}
"""


class Swap(OtolithCase):
    program = OTOLITH
    isolation = "none"

    def setUp(self):
        super().setUp()
        self.watched = self.path / "watched" / "mems_imu.so"
        self.watched.parent.mkdir()
        shutil.copy(PLUGINS / "mems_imu.so", self.watched)
        world = self.path / "world.yaml"
        hosts = {"in_" + node: self.isolation.replace("NODE", node) for node in ("imu", "mag", "watched")}
        world.write_text(WORLD.format(watched=self.watched, **hosts))
        self.server = subprocess.Popen([str(BIN / "otolithd"), str(world), "--no-publish"], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.until(lambda: self.call("echo", "car/imu", "-n", 1).returncode == 0, "the world")

    def plugin(self, topic):
        facts = json.loads(self.otolith("info", topic, "--json"))
        return facts["plugin"], facts["plugin_version"]

    def test_another_sensor_and_back_leaves_no_gap(self):
        reader = subprocess.Popen([OTOLITH, "echo", "car/imu", "--csv", "-n", "400"], env=self.environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        answer = json.loads(self.otolith("swap", "swaptest/car/imu", "sdf_imu", "--json"))
        self.assertEqual(answer["done"], "swapped")
        self.assertIn("mems_imu", answer["text"])
        self.assertGreaterEqual(answer["ticks"], 0)
        self.assertEqual(self.plugin("car/imu")[0], "sdf_imu")
        self.assertIn("swapped at tick", self.otolith("swap", "swaptest/car/imu", "mems_imu"))
        self.assertEqual(self.plugin("car/imu")[0], "mems_imu")
        text, _ = reader.communicate(timeout=PATIENCE_S)
        rows = text.splitlines()
        column = rows[0].split(",").index("seq")
        seqs = [int(row.split(",")[column]) for row in rows[1:]]
        self.assertEqual(seqs, list(range(seqs[0], seqs[0] + len(seqs))))

    def test_the_shadow_is_told_and_the_probation_waited_for(self):
        text = self.otolith("swap", "car/imu", "mems_imu", "--shadow", "100ms", "--probation", "100ms", "--budget", 0, "--wait")
        self.assertIn("in the shadow: no difference", text)
        self.assertIn("kept after its probation", text)

    def test_parameters_come_from_a_file_or_a_part_and_undo_brings_the_old_ones(self):
        before = self.otolith("get", "car/imu", "gyroscope.noise_density_rad_s_rthz")
        params = self.path / "params.yaml"
        params.write_text("gyroscope: {noise_density_rad_s_rthz: 0.125}\n")
        self.otolith("swap", "car/imu", "mems_imu", "--params", params, "--probation", 0)
        self.assertIn("0.125", self.otolith("get", "car/imu", "gyroscope.noise_density_rad_s_rthz"))
        self.assertIn("undone", self.otolith("swap", "car/imu", "--undo", "--probation", 0))
        self.assertEqual(self.otolith("get", "car/imu", "gyroscope.noise_density_rad_s_rthz"), before)
        self.assertIn("tdk/icm-42688-p",
                      self.otolith("swap", "car/imu", "mems_imu", "--part", "tdk/icm-42688-p", "--unit", 3, "--probation", 0))
        self.assertNotEqual(self.otolith("get", "car/imu", "gyroscope.noise_density_rad_s_rthz"), before)

    def test_a_swap_on_probation_is_taken_back_at_once(self):
        self.otolith("swap", "car/imu", "sdf_imu")
        self.otolith("swap", "car/imu", "--undo")
        self.assertEqual(self.plugin("car/imu")[0], "mems_imu")
        self.assertIn("not swapped", self.otolith("swap", "car/mag", "--undo", code=1))

    def test_a_paused_world_is_swapped_and_the_probation_is_not_waited_for(self):
        tick = int(self.otolith("pause").split()[-1])
        done = self.call("swap", "car/imu", "sdf_imu", "--wait", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertGreaterEqual(json.loads(done.stdout)["tick"], tick)
        self.assertIn(f"the swap is live at tick {json.loads(done.stdout)['tick']}, but its probation of 1 s is not over", done.stderr)
        self.assertEqual(self.plugin("car/imu")[0], "sdf_imu")
        self.otolith("swap", "car/imu", "mems_imu", "--wait", "--probation", 0)
        self.otolith("resume")

    def test_two_at_once_are_one_swap_and_one_conflict_and_the_one_can_be_cancelled(self):
        command = [OTOLITH, "swap", "car/imu", "mems_imu", "--shadow", "1000s"]
        both = [subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(2)]
        self.until(lambda: any(one.poll() is not None for one in both), "the conflict")
        loser, winner = sorted(both, key=lambda one: one.poll() is None)
        self.assertIn("under way", loser.communicate(timeout=PATIENCE_S)[1])
        self.assertIn("cancelled", self.otolith("swap", "car/imu", "--cancel"))
        self.assertIn("cancelled", winner.communicate(timeout=PATIENCE_S)[1])
        self.assertEqual([loser.returncode, winner.returncode], [1, 1])
        self.assertIn("no swap", self.otolith("swap", "car/imu", "--cancel", code=1))

    def test_what_does_not_fit_or_crashes_elsewhere_is_refused_with_a_reason(self):
        self.assertIn("publishes records 'imu'", self.otolith("swap", "car/imu", "magnetometer", code=1))
        self.assertIn("there is no plugin", self.otolith("swap", "car/imu", "/nowhere/x.so", code=1))
        self.assertIn("--shadow", self.otolith("swap", "car/imu", "mems_imu", "--shadow-tolerance", 1, code=2))
        self.assertIn("one of them", self.otolith("swap", "car/imu", "mems_imu", "--undo", code=2))
        self.assertIn("name the part", self.otolith("swap", "car/imu", "mems_imu", "--mode", "x", code=1))

    def rebuild(self, version):
        """The file with another version, put in place by renaming as linkers and installers do."""
        code = (PLUGINS / "mems_imu.so").read_bytes()
        now = self.plugin("car/imu")[1].encode()
        self.assertGreaterEqual(code.count(b"\0" + now + b"\0"), 1)
        code = code.replace(b"\0" + now + b"\0", b"\0" + version.encode() + b"\0")
        fresh = self.watched.with_name("fresh")
        fresh.write_bytes(code)
        self.otolith("plugins", "--write-digest", fresh)
        fresh.rename(self.watched)

    def test_a_watched_file_swaps_itself(self):
        self.rebuild("7.7.1")
        self.until(lambda: self.plugin("car/watched") == ("mems_imu", "7.7.1"), "the watched file")
        self.rebuild("7.7.2")
        self.until(lambda: self.plugin("car/watched") == ("mems_imu", "7.7.2"), "the watched file")
        log = self.path / "events"
        with open(log, "w") as file:
            reader = subprocess.Popen([OTOLITH, "echo", "@events", "--json"], env=self.environment, stdout=file)
            try:
                self.until(lambda: self.otolith("swap", "car/mag", "magnetometer", "--probation", 0) and
                           log.read_text() != "", "the first event")
                fresh = self.watched.with_name("fresh")
                fresh.write_bytes(b"not a plugin")
                fresh.rename(self.watched)
                self.until(lambda: "is refused" in log.read_text(), "the event")
            finally:
                reader.terminate()
                reader.wait(timeout=PATIENCE_S)
        self.assertEqual(self.plugin("car/watched"), ("mems_imu", "7.7.2"))


@needs_hosts
class IsolatedSwap(Swap):
    """The same, of nodes that run in plugin hosts."""
    isolation = "{process: NODE, budget_us: 400000}"  # a busy machine may hold a host for longer than the default of 20 ms


@needs_hosts
class AsyncSwap(Swap):
    isolation = "{process: NODE, mode: async, budget_us: 400000}"
    test_a_paused_world_is_swapped_and_the_probation_is_not_waited_for = None  # such a node is swapped at its next step


if __name__ == "__main__":
    unittest.main(verbosity=2)
