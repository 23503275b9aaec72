"""The command line as a new user types it: run, watch, change, step, swap, record; on a world of its own."""
import csv
import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN, PLUGINS, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
OTOLITH = str(BIN / "otolith")

WORLD = """
world: clitest
seed: 18446744073709551615
clock: {rate_hz: 1000, mode: realtime}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - name: imu
        plugin: mems_imu
        rate_hz: 200
        params: {accelerometer: {noise_density_m_s2_rthz: 0.002}, gyroscope: {noise_density_rad_s_rthz: 0.0001}}
      - {name: mag, plugin: magnetometer, rate_hz: 50}
      - {name: odo, plugin: odometer, rate_hz: 100}
publish: {listen: ["ipc"]}
"""


class Case(OtolithCase):
    program = OTOLITH

    def setUp(self):
        super().setUp()
        self.world = self.path / "world.yaml"
        self.world.write_text(WORLD)

    def start(self, *options):
        self.server = subprocess.Popen([OTOLITH, "run", str(self.world), *options], env=self.environment,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.until(lambda: self.call("echo", "clitest/car/imu", "-n", 1).returncode == 0, "the world")

    def sample(self, topic="clitest/car/imu", *options):
        return json.loads(self.otolith("echo", topic, "--json", "-n", 1, *options))

    def seq(self, topic):
        """Of the newest sample, also while the world is paused."""
        listing = json.loads(self.otolith("ls", "--json"))
        return next(row["samples"] for row in listing[0]["topics"] if row["topic"] == topic)

    def summary(self, *options):
        path = self.path / "summary.json"
        self.otolith("run", self.world, "--quiet", "--for", "3s", "--summary", path, *options)
        return json.loads(path.read_text())


class Live(Case):
    def test_echo_shows_the_fields_of_sensor_msgs_imu_in_order(self):
        self.start()
        for road in ("shm", "nng"):
            message = self.sample("clitest/car/imu", "--via", road)
            self.assertEqual(list(message), ["header", "orientation", "orientation_covariance", "angular_velocity",
                                             "angular_velocity_covariance", "linear_acceleration",
                                             "linear_acceleration_covariance", "otolith"])
            self.assertEqual(list(message["header"]), ["seq", "stamp", "frame_id"])
            self.assertEqual(list(message["orientation"]), ["x", "y", "z", "w"])
            self.assertEqual(message["orientation_covariance"][0], -1)
            self.assertEqual(message["header"]["stamp"]["nanosec"] % 5_000_000, 0)

    def test_hz_shows_the_rate_that_was_set(self):
        self.start()
        for road in ("shm", "nng"):
            rate = json.loads(self.otolith("hz", "clitest/car/imu", "--json", "--via", road, "--window", "5s"))
            self.assertAlmostEqual(rate["rate_hz"], 200.0, places=6)
            if road == "shm":  # over pub/sub, loss is counted, not an error
                self.assertEqual(rate["lost"], 0)

    def test_set_moves_the_next_sample(self):
        self.start()
        reply = json.loads(self.otolith("set", "clitest/car/imu", "accelerometer.constant_bias_m_s2", "[0, 100, 0]",
                                        "--json"))
        message = self.sample()
        stamp = message["header"]["stamp"]
        self.assertGreaterEqual(stamp["sec"] * 1000 + stamp["nanosec"] // 1_000_000, reply["tick"])
        self.assertGreater(message["linear_acceleration"]["y"], 90.0)
        self.assertEqual(self.otolith("get", "clitest/car/imu", "accelerometer.constant_bias_m_s2").strip(),
                         "[0, 100, 0]")
        self.otolith("set", "car/imu", "accelerometer.constant_bias_m_s2.1", "-100")
        self.assertLess(self.sample()["linear_acceleration"]["y"], -90.0)

    def test_pause_step_and_resume_do_what_they_say_to_the_sample_numbers(self):
        self.start()
        self.otolith("pause")
        before = self.seq("clitest/car/motion")
        self.assertEqual(self.seq("clitest/car/motion"), before)
        self.otolith("step", 10)
        self.assertEqual(self.seq("clitest/car/motion"), before + 10)
        imu = self.seq("clitest/car/imu")
        self.otolith("step", 1000)
        self.assertEqual(self.seq("clitest/car/imu"), imu + 200)
        self.otolith("resume")
        self.assertGreater(self.sample("clitest/car/motion")["header"]["seq"], before + 1010)

    def test_swap_keeps_the_sequence_and_refuses_what_does_not_fit(self):
        record = self.path / "imu.csv"
        self.start("--csv", f"clitest/car/imu={record}")
        self.otolith("swap", "clitest/car/imu", PLUGINS / "mems_imu.so")
        self.otolith("swap", "clitest/car/imu", "mems_imu")
        self.assertIn("magnetometer", self.otolith("swap", "clitest/car/imu", "magnetometer", code=1))
        self.otolith("swap", "clitest/car/imu", self.world, code=1)
        self.sample()
        self.server.terminate()
        self.server.wait(timeout=PATIENCE_S)
        with open(record, newline="") as file:
            numbers = [int(row["seq"]) for row in csv.DictReader(file)]
        self.assertEqual(numbers, list(range(1, len(numbers) + 1)))

    def test_a_fault_changes_the_samples_for_its_time_and_is_labelled(self):
        self.start()
        imu = "clitest/car/imu"
        answer = json.loads(self.otolith("fault", imu, "bias", "100", "--field", "linear_acceleration.z", "--json"))
        self.assertRegex(answer["text"], "^fault [0-9]+$")
        self.until(lambda: self.sample(imu)["linear_acceleration"]["z"] > 100, "the bias")
        label = self.sample(imu + ".label")
        self.assertEqual(label["kind"][0], 4)
        self.assertEqual(label["amount"][0], 100)
        self.assertLess(label["clean"][4 + 9 + 3 + 9 + 2], 20)
        self.otolith("fault", imu, "--clear")
        self.until(lambda: self.sample(imu)["linear_acceleration"]["z"] < 20, "the sensor's own samples")
        self.assertIn("needs a value", self.otolith("fault", imu, "noise", code=1))
        self.assertIn("did you mean 'angular_velocity.x'?",
                      self.otolith("fault", imu, "scale", "2", "--field", "angular_velocty", code=1))

    def test_a_command_attaches_with_the_role_it_is_given(self):
        self.start()
        imu = "clitest/car/imu"
        self.assertIn("'pause' needs the role operate, and this client has the role observe",
                      self.otolith("pause", "--role", "observe", code=1))
        self.assertIn("'swap' needs the role admin", self.otolith("swap", imu, "sdf_imu", "--role", "operate", code=1))
        self.otolith("set", imu, "accelerometer.constant_bias_m_s2", "[1, 0, 0]", "--role", "operate")
        for role in ("observe", "operate", "admin"):
            self.otolith("echo", imu, "-n", 1, "--role", role)
        self.assertIn("--role takes observe, operate or admin, not 'king'", self.otolith("ls", "--role", "king", code=2))

    def test_a_topic_or_node_names_its_world_when_several_run(self):
        self.start()
        other = subprocess.Popen([OTOLITH, "run", str(self.world), "--quiet", "--name", "second"], env=self.environment,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.until(lambda: self.call("echo", "second/car/imu", "-n", 1).returncode == 0, "the second world")
            self.assertIn("2 worlds are running", self.otolith("echo", "car/imu", "-n", 1, code=1))
            self.otolith("set", "second/car/imu", "accelerometer.constant_bias_m_s2", "[-100, 0, 0]")
            self.assertLess(self.sample("second/car/imu")["linear_acceleration"]["x"], -90)
            self.assertGreater(self.sample("clitest/car/imu")["linear_acceleration"]["x"], -90)
            self.otolith("fault", "second/car/imu", "bias", -5, "--field", "linear_acceleration.y")
            self.assertEqual(json.loads(self.otolith("top", "--json", "--world", "second"))["world"], "second")
            self.assertEqual(json.loads(self.otolith("top", "--json", "second/car/imu"))["world"], "second")
            self.otolith("record", "second/car/imu", "--for", "100ms", "-o", self.path / "second.mcap")
        finally:
            other.terminate()
            other.wait(timeout=PATIENCE_S)

    def test_a_negative_number_is_no_option_wherever_it_stands(self):
        self.start()
        self.otolith("set", "car/imu", "accelerometer.constant_bias_m_s2.1", -100, "--world", "clitest")
        self.assertLess(self.sample()["linear_acceleration"]["y"], -90.0)
        self.assertIn("'-1'", self.otolith("step", -1, code=2))
        self.assertIn("'-2'", self.otolith("scale", -2, code=2))
        self.assertIn("'-5s' is not a duration", self.otolith("seek", "-5s", code=1))
        for command in (["run", "--for"], ["swap", "car/imu", "mems_imu", "--shadow"], ["allan", "log.csv", "--tau-min"], ["sense", "--seed"]):
            self.assertIn("'-3'", self.otolith(*command, "-3", code=2))

    def test_top_prints_json_with_each_topic(self):
        self.start()
        self.sample("clitest/car/odo")  # its first one is later than that of the IMU
        view = json.loads(self.otolith("top", "--json"))
        topics = {row["topic"]: row for row in view["topics"]}
        self.assertEqual(view["state"], "running")
        self.assertEqual(topics["clitest/car/imu"]["unit"], "m/s^2")
        self.assertIsInstance(topics["clitest/car/odo"]["last"], (int, float))

    def test_mistakes_are_answered_with_what_would_be_right(self):
        self.start()
        self.assertIn("clitest/car/imu", self.otolith("echo", "clitest/car/imv", "-n", 1, code=1))
        self.assertIn("constant_bias", self.otolith("set", "car/imu", "accelerometer.constant_bais_m_s2", 1, code=1))
        for bad in ("[1, 2]", "abc", ".nan", "[1, 2, 1e400]"):
            self.otolith("set", "car/imu", "accelerometer.constant_bias_m_s2", bad, code=1)
        self.otolith("scale", 0, code=2)
        self.otolith("step", "x", code=2)
        self.assertIn("runs already", self.otolith("run", self.world, "--for", "1s", code=1))
        self.assertEqual(self.otolith("get", "car/imu", "accelerometer.constant_bias_m_s2").strip(), "[0, 0, 0]")


class Plugins(Case):
    def test_plugins_and_their_parameters_are_listed(self):
        plugins = {row["plugin"]: row for row in json.loads(self.otolith("plugins", "--json"))}
        self.assertEqual(plugins["mems_imu"]["kind"], "sensor")
        self.assertEqual(plugins["motion_script"]["kind"], "motion")
        self.assertIn("mount_calibration", self.otolith("plugins"))
        params = {row["param"]: row for row in json.loads(self.otolith("params", "mems_imu", "--json"))}
        self.assertEqual(params["law"]["accepted"], "mems|mavs")
        self.assertEqual(params["temperature_degc"]["accepted"], "-273.15 to 1000|world")
        self.assertEqual(params["taps"]["accepted"], "true|false")
        self.assertEqual(params["accelerometer.constant_bias_m_s2"]["default"], "[0, 0, 0]")
        self.assertIn("there is no plugin 'nope'", self.otolith("params", "nope", code=1))


class Runs(Case):
    def test_mode_driver_readers_and_timing_do_not_change_the_state_hash(self):
        hashes = {
            "asap": self.summary("--mode", "asap"),
            "step": self.summary("--mode", "step"),
            "realtime": self.summary("--scale", "4"),
            "hybrid": self.summary("--scale", "4", "--set", "clock.driver=hybrid"),
            "recorded": self.summary("--mode", "asap", "--csv", f"car/imu={self.path / 'a.csv'}"),
            "unpublished": self.summary("--mode", "asap", "--no-publish"),
        }
        self.assertEqual(len({run["state_hash"] for run in hashes.values()}), 1,
                         {name: run["state_hash"] for name, run in hashes.items()})
        self.assertNotEqual(self.summary("--mode", "asap", "--seed", "1")["state_hash"], hashes["asap"]["state_hash"])

    def test_summary_counts_exactly_and_keeps_the_seed(self):
        run = self.summary("--mode", "asap")
        self.assertEqual((run["world"], run["seed"], run["ticks"], run["sim_time_ns"], run["overruns"]),
                         ("clitest", 18446744073709551615, 3000, 3_000_000_000, 0))
        self.assertEqual({topic: row["samples"] for topic, row in run["topics"].items() if "@" not in topic},
                         {"clitest/car/motion": 3000, "clitest/car/imu": 600, "clitest/car/mag": 150,
                          "clitest/car/odo": 300})
        self.assertEqual(set(run["tick_ns"]), {"p50", "p99", "max"})

    def test_csv_is_complete_however_fast_the_world_runs(self):
        path = self.path / "motion.csv"
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "20s", "--csv", f"car/motion={path}")
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([int(row["t_ns"]) for row in rows], [1_000_000 * n for n in range(1, 20001)])

    def test_bad_worlds_are_refused_with_their_place(self):
        for change, words in ((("seed:", "sead:"), "seed"), (("rate_hz: 200", "rate_hz: 2000"), "1000"),
                              (("plugin: mems_imu", "plugin: mems_imv"), "mems_imu"), (("[\"ipc\"]", "["), "world.yaml:")):
            self.world.write_text(WORLD.replace(*change))
            said = self.otolith("check", self.world, code=1)
            self.assertIn("world.yaml:", said)
            self.assertIn(words, said)
            self.otolith("run", self.world, "--for", "1s", code=1)
        self.world.write_text(WORLD)
        self.otolith("check", self.world)

    def test_an_address_to_listen_on_has_a_port(self):
        for address in ("tcp://127.0.0.1", "tcp://127.0.0.1:99999", "tcp://127.0.0.1:x", "tcp://:80", "tcp://[::1]"):
            said = self.otolith("check", self.world, "--set", f"publish.listen=[\"{address}\"]", code=1)
            self.assertIn("a port of 0 to 65535", said, address)
        for address in ("tcp://127.0.0.1:0", "tcp://[::1]:5555"):
            self.otolith("check", self.world, "--set", f"publish.listen=[\"{address}\"]")

    def test_nothing_is_left_behind(self):
        self.summary("--mode", "asap")
        left = [str(p) for p in (self.path / "otolith").rglob("*")] if (self.path / "otolith").exists() else []
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
