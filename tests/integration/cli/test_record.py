"""Recordings: otolith run --mcap and otolith record make files that other vendors' programs read, that verify proves sample by
sample, and that lose nothing complete when the recorder is killed, the disk is full or the file is damaged."""
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
sys.dont_write_bytecode = True

from npm import npm_folder  # noqa: E402
from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

BIN, BUILD, SOURCE = (pathlib.Path(sys.argv.pop(1)) for _ in range(3))
OTOLITH = str(BIN / "otolith")

WORLD = """
world: rec
seed: 5
clock: {rate_hz: 1000, mode: realtime}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - name: imu
        plugin: mems_imu
        rate_hz: 500
        params: {accelerometer: {noise_density_m_s2_rthz: 0.002}, clock: {error_ppm: 50}}
        faults: [{kind: noise, value: 0.1, at_s: 0.2, for_s: 0.2}]
      - {name: mag, plugin: magnetometer, rate_hz: 50}
      - {name: odo, plugin: odometer, rate_hz: 100}
publish: false
"""


def middle_of_largest_chunk(data):
    place, best = 8, (0, 0)
    while place + 9 <= len(data) - 8:
        opcode, length = data[place], int.from_bytes(data[place + 1:place + 9], "little")
        if opcode == 6:
            best = max(best, (length, place + 9 + length // 2))
        place += 9 + length
    return best[1]


class Recordings(OtolithCase):
    program = OTOLITH

    def setUp(self):
        super().setUp()
        self.world = self.path / "world.yaml"
        self.world.write_text(WORLD)
        self.file = self.path / "rec.mcap"

    def record_run(self, *options):
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "3s", "--mcap", self.file, *options)

    def verify(self, code=0):
        done = self.call("verify", self.file, "--json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def start(self, *options):
        self.server = subprocess.Popen([str(BIN / "otolithd"), str(self.world), *options], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.until(lambda: self.call("ls").returncode == 0, "the world")

    def test_every_sample_of_a_run_is_in_its_recording_and_is_proven(self):
        self.record_run()
        facts = self.verify()
        self.assertTrue(facts["same"] and facts["complete"])
        self.assertEqual(facts["samples"], 3 * (1000 + 500 + 50 + 100))
        self.assertEqual(facts["missing"], 0)
        self.assertGreaterEqual(facts["hashes"], 3)
        self.assertEqual([path.name for path in self.path.iterdir() if path.name.startswith("otolith-run")], [])

    def test_a_fleet_of_more_topics_than_one_request_lists_is_recorded_without_loss_and_played(self):
        self.world.write_text("world: rec\nclock: {rate_hz: 100}\npublish: false\nvehicles:\n  - {name: car, count: 600, motion: {plugin: motion_script}, "
                              "nodes: [{name: imu, plugin: mems_imu, rate_hz: 100}]}\n")
        self.record_run("--for", "500ms")
        facts = self.verify()
        self.assertTrue(facts["same"] and facts["complete"])
        self.assertEqual(facts["samples"], 600 * 2 * 50)
        self.start("--mode", "asap")
        some = self.path / "some.mcap"
        done = self.call("record", "car_00*/imu", "car_0003/motion", "-o", some, "--for", "200ms", "--json")
        self.assertEqual((done.returncode, json.loads(done.stdout)["lost"]), (0, 0), done.stderr)
        self.assertLess(some.stat().st_size, 20_000_000)  # facts of the recorded channels, not of all
        self.assertIn("no topic matches 'truck*'", self.call("record", "truck*", "-o", some).stderr)
        values = self.otolith("get", "car_00[01]*/imu", "accelerometer.resolution_m_s2").splitlines()
        self.assertEqual([line.split()[0] for line in values], [f"rec/car_{i:04}/imu" for i in range(20)])
        self.assertEqual(len(json.loads(self.otolith("get", "car_000*/imu", "taps", "--json"))), 10)
        self.assertIn("no node matches 'truck*'", self.call("get", "truck*").stderr)
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(timeout=PATIENCE_S)
        self.server = subprocess.Popen([OTOLITH, "play", str(self.file), "--hold"], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.until(lambda: self.call("ls").returncode == 0, "the playback")
        self.assertEqual(len(self.otolith("ls", "car_05*/*").splitlines()), 1 + 2 * 100)

    def test_samples_whose_stamps_a_fault_moves_are_proven_too(self):
        self.record_run("--set", "vehicles.car.nodes.mag.faults=[{kind: time_jump, value: 2, at_s: 0.5}]", "--set",
                        "vehicles.car.nodes.odo.faults=[{kind: time_jitter, value: 0.02, at_s: 0.5}]")
        facts = self.verify()
        self.assertTrue(facts["same"])
        self.assertEqual(facts["samples"], 3 * (1000 + 500 + 50 + 100))

    def test_a_recording_is_the_same_bytes_each_time_except_its_epoch(self):
        self.record_run()
        first = self.verify()
        self.file.unlink()
        self.record_run()
        self.assertEqual(self.verify(), first)

    def test_a_recording_begins_with_the_next_samples(self):
        self.start("--start-paused")
        self.otolith("step", 100)
        recorder = subprocess.Popen([OTOLITH, "record", "car/motion", "-o", str(self.file), "--for", "10ms", "--json"], env=self.environment,
                                    stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.until(self.file.exists, "the recording")
        self.otolith("step", 10)
        done = json.loads(recorder.communicate(timeout=PATIENCE_S)[0])
        self.assertEqual((recorder.returncode, done["samples"], done["lost"]), (0, 10, 0))

    def test_inputs_of_a_live_world_are_applied_again(self):
        self.start("--log", str(self.path / "run.log"))
        self.otolith("set", "car/imu", "accelerometer.constant_bias_m_s2", "[1, 0, 0]")
        recorder = subprocess.Popen([OTOLITH, "record", "-o", str(self.file)], env=self.environment, stderr=subprocess.DEVNULL)
        self.until(self.file.exists, "the recording")
        self.otolith("swap", "car/imu", "mems_imu")
        self.otolith("set", "car/odo", "scale_error_percent", "1")
        self.server.send_signal(signal.SIGSTOP)
        try:
            recorder.send_signal(signal.SIGINT)
            with self.assertRaises(subprocess.TimeoutExpired):  # it waits until the server has written its log
                recorder.wait(timeout=1)
        finally:
            self.server.send_signal(signal.SIGCONT)
        self.assertIn(recorder.wait(timeout=PATIENCE_S), (0, 1))  # 1: a busy machine lost samples of a world in real time
        facts = self.verify()
        self.assertTrue(facts["same"])
        self.assertGreaterEqual(facts["inputs"], 2)

    def write_world_of_files(self, place):
        """A world that names files in every way: beside it, by an absolute path, for each vehicle, as a part, in a parameter file."""
        (place / "drives").mkdir(parents=True)
        (place / "parts" / "own").mkdir(parents=True)
        for i in range(2):
            rows = [f"{t / 10},{10 * t / 10 + i},0,0,1,0,0,0" for t in range(60)]
            (place / "drives" / f"{i}.csv").write_text("t,x,y,z,qw,qx,qy,qz\n" + "\n".join(rows) + "\n")
        (place / "imu.yaml").write_text("accelerometer: {noise_density_m_s2_rthz: 0.002}\n")
        (place / "parts" / "tdk").mkdir()
        part = (SOURCE / "configs/parts/tdk/icm-42688-p.yaml").read_text()
        (place / "parts" / "tdk" / "icm-42688-p.yaml").write_text(part)
        shutil.copy(BUILD / "lib/otolith/plugins-2/mems_imu.so", place)
        columns = "columns: {time: t, position_x: x, position_y: y, position_z: z, attitude_w: qw, attitude_x: qx, attitude_y: qy, attitude_z: qz}"
        world = place / "world.yaml"
        world.write_text(f"""
world: rec
seed: 5
clock: {{rate_hz: 1000}}
publish: false
vehicles:
  - name: fleet
    count: 2
    motion: {{plugin: motion_replay, params: {{path: "drives/{{i}}.csv", {columns}, at_end: hold}}}}
    nodes: [{{name: imu, plugin: mems_imu, rate_hz: 100, params_file: imu.yaml}}]
  - name: car
    motion: {{plugin: motion_replay, params: {{path: {place}/drives/0.csv, {columns}, at_end: hold}}}}
    nodes: [{{name: imu, plugin: ./mems_imu.so, rate_hz: 100, part: tdk/icm-42688-p}}]
""")
        return world

    def test_a_recording_needs_no_file_but_itself(self):
        place = self.path / "there"
        world = self.write_world_of_files(place)
        (self.path / "set.yaml").write_text("accelerometer: {constant_bias_m_s2: [0.1, 0, 0]}\n")
        self.otolith("run", world, "--quiet", "--mode", "asap", "--for", "2s", "--mcap", self.file, "--set",
                     f"vehicles.fleet.nodes.imu.params_file={self.path}/set.yaml")
        shutil.rmtree(place)
        (self.path / "set.yaml").unlink()
        empty = self.path / "empty"
        empty.mkdir()
        moved = self.file.rename(empty / "moved.mcap")
        done = self.call("verify", moved, "--json")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        facts = json.loads(done.stdout)
        self.assertTrue(facts["same"])
        self.assertEqual(facts["samples"], 2 * 3 * (1000 + 100))
        self.assertEqual([path.name for path in empty.iterdir()], ["moved.mcap"])

    def test_a_restored_run_is_proven_without_its_checkpoint(self):
        checkpoint = self.path / "half.ckpt"
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--checkpoint", checkpoint)
        self.record_run("--restore", checkpoint)
        checkpoint.unlink()
        self.assertTrue(self.verify()["same"])

    def test_a_recording_whose_files_lead_out_of_its_folder_is_refused(self):
        place = self.path / "there"
        self.otolith("run", self.write_world_of_files(place), "--quiet", "--mode", "asap", "--for", "1s", "--mcap", self.file)
        name = f"files{place}/imu.yaml".encode()
        data = self.file.read_bytes()
        self.assertIn(name, data)
        self.file.write_bytes(data.replace(name, b"files/../" + b"x" * (len(name) - 9)))
        self.assertIn("files/../", self.otolith("verify", self.file, code=1))

    def test_a_changed_sample_is_named(self):
        self.record_run("--set", "vehicles.car.nodes.imu.params.accelerometer.noise_density_m_s2_rthz=0.003")
        self.assertTrue(self.verify()["same"])
        self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "3s", "--log", self.path / "other.log")
        data = self.file.read_bytes()
        self.file.write_bytes(data.replace(b"0.003", b"0.004"))  # in the log of inputs, whose CRC then is wrong
        self.assertIn("inputs.jsonl", self.otolith("verify", self.file, code=1))

    def test_a_world_that_changed_without_a_log_differs_and_the_reason_is_given(self):
        self.start()
        self.otolith("set", "car/imu", "accelerometer.constant_bias_m_s2", "[1, 0, 0]")
        self.call("record", "-o", self.file, "--for", "1s", "car/imu")
        done = self.call("verify", self.file)
        self.assertEqual(done.returncode, 1)
        self.assertIn("differs: sample", done.stdout)
        self.assertIn("linear_acceleration.x", done.stdout)
        self.assertIn("--log", done.stderr)

    def test_a_killed_recorder_leaves_a_file_that_is_proven_up_to_its_last_chunk(self):
        self.start("--log", str(self.path / "run.log"))
        recorder = subprocess.Popen([OTOLITH, "record", "-o", str(self.file)], env=self.environment)
        self.until(lambda: self.file.exists() and self.file.stat().st_size > 150000, "two chunks")
        recorder.send_signal(signal.SIGKILL)
        recorder.wait(timeout=PATIENCE_S)
        facts = self.verify()
        self.assertTrue(facts["same"])
        self.assertFalse(facts["complete"])
        self.assertGreater(facts["samples"], 1000)

    def test_a_cut_file_and_a_damaged_chunk_lose_only_what_is_not_complete(self):
        self.record_run()
        data, whole = self.file.read_bytes(), self.verify()["samples"]
        self.file.write_bytes(data[:-1])
        facts = self.verify()
        self.assertEqual((facts["samples"], facts["complete"]), (whole, False))
        self.file.write_bytes(data[:len(data) // 2])
        self.assertGreater(self.verify()["samples"], 100)
        place = middle_of_largest_chunk(data)
        self.file.write_bytes(data[:place] + bytes([data[place] ^ 1]) + data[place + 1:])
        facts = self.verify()
        self.assertEqual(facts["damaged_chunks"], 1)
        self.assertLess(facts["samples"], whole)

    def test_files_that_are_no_recordings_are_a_sentence(self):
        for content, words in ((b"", "not an MCAP file"), (b"\x89MCAP0\r\n", "within its header"),
                               (b"seed: 1\n" * 100, "not an MCAP file")):
            self.file.write_bytes(content)
            self.assertIn(words, self.otolith("verify", self.file, code=1))
        self.assertIn("cannot read", self.otolith("verify", self.path / "absent.mcap", code=1))

    def test_outputs_that_cannot_be_written_are_a_sentence(self):
        error = self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--mcap", "/dev/full", code=1)
        self.assertIn("No space left on device", error)
        error = self.otolith("run", self.world, "--quiet", "--mode", "asap", "--for", "1s", "--mcap", self.path / "no/rec.mcap",
                             code=1)
        self.assertIn("cannot write", error)

    def test_programs_of_other_vendors_read_a_recording(self):
        place = npm_folder(self, BUILD, SOURCE, "check_recording.mjs")
        self.record_run()
        checked = subprocess.run(["node", "check_recording.mjs", str(self.file)], cwd=place, capture_output=True, text=True,
                                 timeout=self.timeout_s)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        facts = json.loads(checked.stdout)
        self.assertGreater(facts["messages"], 4000)
        for name in ("sensor_msgs/msg/Imu", "sensor_msgs/msg/MagneticField", "nav_msgs/msg/Odometry", "tf2_msgs/msg/TFMessage",
                     "rosgraph_msgs/msg/Clock", "diagnostic_msgs/msg/DiagnosticArray", "rcl_interfaces/msg/Log",
                     "otolith_msgs/msg/Truth", "otolith_msgs/msg/Head"):
            self.assertIn(name, facts["types"])


if __name__ == "__main__":
    unittest.main()
