"""otolith-ros2 with another vendor's DDS, eProsima Fast DDS, on loopback. Exits with 77 where the reader was not built."""
import csv
import itertools
import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import unittest

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)).absolute() for _ in range(2))
PEER = sys.argv.pop(1)
sys.path.insert(0, str(SOURCE / "tests" / "support"))
from otolith_case import OtolithCase  # noqa: E402

PATIENCE_S = 300

# Unicast on loopback only: a container's lo often has no multicast.
CONFIGURATION = """<CycloneDDS><Domain>
<General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>15</MaxAutoParticipantIndex><Peers><Peer Address="127.0.0.1"/></Peers>
<LeaseDuration>3s</LeaseDuration><SPDPInterval>500ms</SPDPInterval></Discovery></Domain></CycloneDDS>
"""

WORLD = """
world: test
origin: {latitude_deg: 48.1, longitude_deg: 11.5, altitude_m: 520, date: 2026-07-01}
clock: {rate_hz: 100, mode: realtime}
environment: {gravity: wgs84, magnetic_field: wmm2025}
vehicles:
  - name: car
    motion: {plugin: motion_script, params: {speed_m_s: 5, segments: [{kind: turn, angle_deg: 360, radius_m: 12}]}}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 50, mount: {position_m: [0.2, 0, 0.4], rpy_deg: [0, 0, 90]}}
      - {name: mag, plugin: magnetometer, rate_hz: 20}
      - {name: gnss, plugin: gnss, rate_hz: 20}
      - {name: baro, plugin: barometer, rate_hz: 20}
      - {name: odo, plugin: odometer, rate_hz: 20}
"""

IMU = ("rt/car/imu", "sensor_msgs::msg::dds_::Imu_", "iIs37d")
CLOCK = ("rt/clock", "rosgraph_msgs::msg::dds_::Clock_", "iI")


def free_domain():
    """A domain whose first ports are free: 7400 + 250 × domain, below the ports that the kernel gives to others."""
    while True:
        domain = random.randrange(2, 100)
        try:
            for offset in (0, 10, 11):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    probe.bind(("127.0.0.1", 7400 + 250 * domain + offset))
            return domain
        except OSError:
            continue


class Peer:
    """fastdds_peer and what it has reported."""

    def __init__(self, domain, environment):
        self.process = subprocess.Popen([PEER, str(domain)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.news = threading.Condition()
        self.messages, self.matched, self.endpoints = {}, {}, {}
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            report = json.loads(line)
            with self.news:
                if "topic" in report:
                    self.messages.setdefault(report["topic"], []).append(report)
                elif "matched" in report:
                    self.matched[report["matched"]] = report["count"]
                else:
                    kind = next(iter(report))
                    self.endpoints[kind, report[kind]] = report
                self.news.notify_all()

    def until(self, condition, what):
        with self.news:
            if not self.news.wait_for(condition, PATIENCE_S):
                raise AssertionError(f"waited too long for {what}")

    def say(self, *words):
        self.process.stdin.write(" ".join(words) + "\n")
        self.process.stdin.flush()

    def subscribe(self, topic, dds_type, layout, kind="reliable"):
        self.say("subscribe", topic, dds_type, layout, kind)

    def take(self, topic, count, after=0):
        """`count` messages behind the first `after`."""
        self.until(lambda: len(self.messages.get(topic, [])) >= after + count, f"{count} messages on {topic}")
        return [message["values"] for message in self.messages[topic][after:after + count]]

    def count(self, topic):
        return len(self.messages.get(topic, []))

    def endpoint(self, kind, name):
        self.until(lambda: (kind, name) in self.endpoints, f"{kind} {name}")
        return self.endpoints[kind, name]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=300)
        self.thread.join(timeout=300)
        self.process.stdout.close()


def number(text):
    """Whole numbers exactly: a double does not hold all 64 bits."""
    return int(text) if text.lstrip("-").isdigit() else float(text)


def stamp_ns(values, at=0):
    return values[at] * 1_000_000_000 + values[at + 1]


class OtolithRos2(OtolithCase):
    program = str(BIN / "otolith")

    def setUp(self):
        super().setUp()
        self.domain, self.processes, self.logs = free_domain(), [], []
        self.environment["CYCLONEDDS_URI"] = CONFIGURATION
        # Debian's Cyclone is not instrumented: its atomic operations, which order its threads, are invisible to the thread sanitizer.
        self.environment["TSAN_OPTIONS"] = f"{os.environ.get('TSAN_OPTIONS', '')} ignore_noninstrumented_modules=1"

    def tearDown(self):
        self.stop()  # before the folder is removed
        super().tearDown()

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                process.wait(timeout=300)

    def start(self, *command, log):
        with open(self.path / log, "ab") as out:
            process = subprocess.Popen(list(map(str, command)), env=self.environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def log(self, name="ros2.log"):
        return (self.path / name).read_text(errors="replace")

    def start_world(self, text=WORLD):
        (self.path / "world.yaml").write_text(text)
        world = self.start(self.program, "run", self.path / "world.yaml", "--quiet", log="world.log")
        self.until(lambda: self.call("ls", "--world", "test").returncode == 0 or world.poll() is not None, "the world", PATIENCE_S)
        self.assertIsNone(world.poll(), self.log("world.log"))
        return world

    def start_bridge(self, *options):
        return self.start(BIN / "otolith-ros2", "--world", "test", "--domain", self.domain, *options, log="ros2.log")

    def peer(self):
        peer = Peer(self.domain, self.environment)
        self.addCleanup(peer.close)
        return peer

    def end(self, process, code=0):
        process.terminate()
        self.assertEqual(process.wait(timeout=PATIENCE_S), code, self.log())

    def rows(self, topic):
        """The samples of a topic by their time, as `otolith echo` reads them from the segment."""
        rows = {}
        echo = subprocess.Popen([self.program, "echo", topic, "--csv", "--world", "test"], env=self.environment, stdout=subprocess.PIPE, text=True)

        def read():
            for row in csv.DictReader(echo.stdout):
                rows[int(row["t_ns"])] = row
        thread = threading.Thread(target=read, daemon=True)
        thread.start()

        def finish():
            echo.terminate()
            echo.wait(timeout=300)
            thread.join(timeout=300)
            echo.stdout.close()
        self.addCleanup(finish)
        self.until(lambda: len(rows) > 0, f"samples of {topic}", PATIENCE_S)
        return rows

    def compare(self, peer, subscription, topic, columns, head, count=10):
        """Messages whose numbers behind `head` values are those columns of the segment's samples, bit for bit."""
        rows = self.rows(topic)
        first = max(rows)
        peer.subscribe(*subscription)
        values = [message for message in peer.take(subscription[0], 2 * count) if stamp_ns(message) > first][:count]
        self.assertGreater(len(values), 0)
        self.until(lambda: stamp_ns(values[-1]) in rows, "the same samples", PATIENCE_S)
        for message in values:
            row = rows[stamp_ns(message)]
            self.assertEqual(message[head:head + len(columns)], [number(row[column]) for column in columns])
        stamps = [stamp_ns(message) for message in values]
        self.assertEqual(stamps, sorted(set(stamps)), "in order, none twice")
        return values

    # ---- messages ----

    def test_imu_and_magnetometer_are_the_samples_of_the_segment(self):
        self.start_world()
        bridge, peer = self.start_bridge(), self.peer()
        columns = ([f"orientation.{c}" for c in "xyzw"] + [f"orientation_covariance.{i}" for i in range(9)] + [f"angular_velocity.{c}" for c in "xyz"] +
                   [f"angular_velocity_covariance.{i}" for i in range(9)] + [f"linear_acceleration.{c}" for c in "xyz"] +
                   [f"linear_acceleration_covariance.{i}" for i in range(9)])
        values = self.compare(peer, IMU, "car/imu", columns, 3)
        self.assertEqual(values[0][2], "car/imu", "frame_id")
        self.compare(peer, ("rt/car/mag", "sensor_msgs::msg::dds_::MagneticField_", "iIs12d"), "car/mag",
                     [f"magnetic_field.{c}" for c in "xyz"] + [f"magnetic_field_covariance.{i}" for i in range(9)], 3)
        writer = peer.endpoint("writer", "rt/car/imu")
        self.assertTrue(writer["reliable"])
        self.assertFalse(writer["latched"])
        self.assertEqual(writer["user_data"], "typehash=RIHS01_7d9a00ff131080897a5ec7e26e315954b8eae3353c3f995c55faf71574000b5b;")
        self.end(bridge)
        self.assertRegex(self.log(), r"[1-9]\d* messages sent, 0 dropped, 0 records lost")

    def test_fix_pressure_and_odometry_are_standard_messages(self):
        self.start_world()
        self.start_bridge()
        peer = self.peer()
        self.compare(peer, ("rt/car/gnss", "sensor_msgs::msg::dds_::NavSatFix_", "iIsbH12dB"), "car/gnss",
                     ["status.status", "status.service", "latitude", "longitude", "altitude", *[f"position_covariance.{i}" for i in range(9)],
                      "position_covariance_type"], 3)
        self.compare(peer, ("rt/car/baro", "sensor_msgs::msg::dds_::FluidPressure_", "iIs2d"), "car/baro", ["fluid_pressure", "variance"], 3)
        values = self.compare(peer, ("rt/car/motion", "nav_msgs::msg::dds_::Odometry_", "iIss7d36d6d36d"), "car/motion",
                              [f"position_enu_m.{c}" for c in "xyz"] + [f"q_enu_from_body.{c}" for c in "xyzw"], 4)
        self.assertEqual(values[0][2:4], ["map", "car"])
        transforms = self.compare(peer, ("rt/tf", "tf2_msgs::msg::dds_::TFMessage_", "S(iIss7d)"), "car/motion",
                                  [f"position_enu_m.{c}" for c in "xyz"] + [f"q_enu_from_body.{c}" for c in "xyzw"], 4)
        self.assertEqual(transforms[0][2:4], ["map", "car"])

    def test_other_records_are_messages_of_otolith_msgs(self):
        self.start_world()
        self.start_bridge()
        peer = self.peer()
        self.compare(peer, ("rt/car/gnss/record", "otolith_msgs::msg::dds_::Navsat_", "iIsQqIqq34dHbBBB"), "car/gnss",
                     ["seq", "sensor_time_ns", "flags", "utc_ns", "age_ns", "latitude", "longitude"], 3)
        self.compare(peer, ("rt/car/motion/record", "otolith_msgs::msg::dds_::Truth_", "iIsQqI20d"), "car/motion",
                     ["seq", "sensor_time_ns", "flags"] + [f"position_enu_m.{c}" for c in "xyz"], 3)

    def test_late_subscribers_get_the_log(self):
        self.start_world()
        self.start_bridge()
        peer = self.peer()
        peer.endpoint("writer", "rt/rosout")
        peer.subscribe("rt/rosout", "rcl_interfaces::msg::dds_::Log_", "iIBssssI", "latched")
        self.assertTrue(peer.endpoint("writer", "rt/rosout")["latched"])
        self.assertTrue(peer.take("rt/rosout", 1)[0][4], "one sentence")

    def test_the_mounts_of_sensors_are_static_transforms(self):
        self.start_world()
        self.start_bridge()
        peer = self.peer()
        peer.endpoint("writer", "rt/tf_static")
        peer.subscribe("rt/tf_static", "tf2_msgs::msg::dds_::TFMessage_", "S(iIss7d)", "latched")
        values = peer.take("rt/tf_static", 1)[0]
        transforms = {values[i + 3]: values[i:i + 11] for i in range(0, len(values), 11)}
        self.assertEqual(set(transforms), {"car/imu", "car/mag", "car/gnss", "car/baro", "car/odo"})
        imu = transforms["car/imu"]
        self.assertEqual(imu[2], "car")
        for got, expected in zip(imu[4:], [0.2, 0, 0.4, 0, 0, 0.5 ** 0.5, 0.5 ** 0.5]):
            self.assertAlmostEqual(got, expected, delta=1e-12)

    # ---- the clock ----

    def test_the_clock_follows_ticks_pauses_and_steps(self):
        self.start_world(WORLD.replace("rate_hz: 100, mode: realtime", "rate_hz: 1000, mode: realtime"))
        self.start_bridge()
        peer = self.peer()
        peer.subscribe(*CLOCK, "reliable")
        messages = peer.take("rt/clock", 100)
        times = [stamp_ns(message) for message in messages]
        self.assertEqual(times, sorted(times))
        arrivals = [message["at_ns"] for message in peer.messages["rt/clock"][:100]]
        self.assertGreater(arrivals[-1] - arrivals[0], 99 * 3_900_000, "at most 250 a second")
        rows = self.rows("car/motion")
        self.otolith("pause", "--world", "test")
        peer.until(lambda: stamp_ns(peer.messages["rt/clock"][-1]["values"]) in rows, "the time of the pause")
        for ticks in (1, 7, 5):
            last = max(rows)
            self.otolith("step", "--world", "test", ticks)
            self.until(lambda: last + ticks * 1_000_000 in rows, "the step", PATIENCE_S)
            peer.until(lambda: stamp_ns(peer.messages["rt/clock"][-1]["values"]) == last + ticks * 1_000_000, f"the time after {ticks} steps")

    # ---- services ----

    def call_service(self, peer, name, package, kind, request, reply_layout):
        """As rmw_cyclonedds_cpp calls: behind the encapsulation, the client's name and the number of the request."""
        sends, answers = f"rq/otolith/{name}Request", f"rr/otolith/{name}Reply"
        numbers = itertools.count(1000)

        def reply(number):
            return next((message["values"][2:] for message in list(peer.messages.get(answers, [])) if message["values"][:2] == [4711, number]), None)

        def send(data):
            number = next(numbers)
            peer.say("write", sends, (b"\0\1\0\0" + struct.pack("<Qq", 4711, number) + data).hex())
            return number
        if sends not in peer.matched:
            peer.subscribe(answers, f"{package}::srv::dds_::{kind}_Response_", "Qq" + reply_layout)
            peer.say("advertise", sends, f"{package}::srv::dds_::{kind}_Request_", "volatile")
            peer.until(lambda: peer.matched.get(sends) == 1 and peer.matched.get(answers) == 1, f"the service {name}")
            # Each side finds the other for itself: requests without a meaning are sent until one is answered.
            self.until(lambda: send(b"") and peer.count(answers) > 0, "both sides to know each other", PATIENCE_S)
        numbers = itertools.count(max(message["values"][1] for message in peer.messages[answers]) + 100_000)
        sent = send(request)
        peer.until(lambda: reply(sent) is not None, f"the reply of {name}")
        return reply(sent)

    @staticmethod
    def texts(*texts):
        data = b""
        for text in texts:
            data += b"\0" * (-len(data) % 4) + struct.pack("<I", len(text) + 1) + text.encode() + b"\0"
        return data

    def test_services_pause_step_and_set(self):
        self.start_world()
        self.start_bridge("--control")
        peer = self.peer()
        rows = self.rows("car/motion")
        self.assertEqual(self.call_service(peer, "pause", "std_srvs", "SetBool", b"\1", "Bs")[0], 1)
        first = self.call_service(peer, "step", "otolith_msgs", "Step", struct.pack("<Q", 3), "BsQ")
        second = self.call_service(peer, "step", "otolith_msgs", "Step", struct.pack("<Q", 5), "BsQ")
        self.assertEqual((first[0], second[0], second[2] - first[2]), (1, 1, 5))
        self.until(lambda: second[2] * 10_000_000 in rows, "the sample of the last step", PATIENCE_S)
        self.assertEqual(self.call_service(peer, "pause", "std_srvs", "SetBool", b"\0", "Bs")[0], 1)
        good = self.call_service(peer, "set", "otolith_msgs", "Set", self.texts("car/odo", "scale_error_percent", "1.5"), "BsQ")
        self.assertEqual(good[0], 1, good)
        self.assertIn("1.5", self.otolith("get", "--world", "test", "car/odo", "scale_error_percent"))
        bad = self.call_service(peer, "set", "otolith_msgs", "Set", self.texts("car/odometer", "scale_error_percent", "1.5"), "BsQ")
        self.assertEqual(bad[0], 0)
        self.assertIn("odo", bad[1], "a sentence with the nearest name")
        self.assertRegex(peer.endpoint("reader", "rq/otolith/pauseRequest")["user_data"], "serviceid=[0-9a-f]{32};typehash=RIHS01_[0-9a-f]{64};")

    # ---- discovery ----

    def test_nodes_and_endpoints_are_announced_as_ros_2_does(self):
        self.start_world()
        self.start_bridge("--namespace", "/sim", "--control")
        peer = self.peer()
        peer.subscribe("ros_discovery_info", "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_", "-", "latched")
        writer = peer.endpoint("writer", "rt/sim/car/imu")
        self.until(lambda: any(kind == "participant" and report["user_data"] == "enclave=/;" for (kind, _), report in peer.endpoints.items()),
                   "a participant with an enclave", PATIENCE_S)

        def graph():
            return [bytes.fromhex(message["values"])[4:] for message in list(peer.messages.get("ros_discovery_info", []))]

        def names(data):
            """gid[16], then one node: namespace, name, readers, writers."""
            count, at, found = struct.unpack_from("<I", data, 16)[0], 20, []
            for _ in range(count):
                texts = []
                for _ in range(2):
                    at = (at + 3) // 4 * 4
                    length = struct.unpack_from("<I", data, at)[0]
                    texts.append(data[at + 4:at + 3 + length].decode())
                    at += 4 + length
                lists = []
                for _ in range(2):
                    at = (at + 3) // 4 * 4
                    length = struct.unpack_from("<I", data, at)[0]
                    lists.append([data[at + 4 + 16 * i:at + 20 + 16 * i].hex() for i in range(length)])
                    at += 4 + 16 * length
                found.append((*texts, *lists))
            return found

        def nodes():
            return {name: (space, readers, writers) for data in graph() for space, name, readers, writers in names(data)}
        peer.until(lambda: {"otolith", "otolith_clock", "otolith_control"} <= nodes().keys(), "all nodes")
        space, _, writers = nodes()["otolith"]
        self.assertEqual(space, "/sim")
        self.assertIn(writer["guid"], writers)
        self.assertEqual(nodes()["otolith_clock"][2], [peer.endpoint("writer", "rt/clock")["guid"]], "/clock has no namespace")

    # ---- driving ----

    def test_twists_drive_a_given_vehicle(self):
        world = WORLD.replace("realtime}", "realtime}\nparticipants: [{name: ros, timeout_ms: 1000, on_timeout: hold}]")
        self.start_world(world.replace(world[world.index("{plugin: motion_script"):world.index("}]}}") + 4], "{participant: ros}"))
        self.start_bridge("--drive", "ros")
        peer = self.peer()
        rows = self.rows("car/motion")
        peer.say("advertise", "rt/car/cmd_vel", "geometry_msgs::msg::dds_::TwistStamped_", "volatile")
        peer.until(lambda: peer.matched.get("rt/car/cmd_vel") == 1, "the subscription of cmd_vel")
        twist = b"\0\1\0\0" + struct.pack("<iII4x6d", 0, 0, 1, 1.5, 0, 0, 0, 0, 0.25)

        def drives():
            peer.say("write", "rt/car/cmd_vel", twist.hex())
            row = rows[max(rows)]
            return float(row["longitudinal_speed_m_s"]) == 1.5 and float(row["angular_rate_body_rad_s.z"]) == 0.25
        self.until(drives, "the commanded speed", PATIENCE_S)
        speeds = [float(row["longitudinal_speed_m_s"]) for row in list(rows.values())]
        self.assertLessEqual(max(b - a for a, b in zip(speeds, speeds[1:])), 0.03 + 1e-9, "3 m/s^2 at 100 Hz")
        self.until(lambda: float(rows[max(rows)]["longitudinal_speed_m_s"]) == 0.0, "a stop without commands", PATIENCE_S)

    # ---- restarts ----

    def test_the_next_run_of_the_world_is_followed(self):
        world = self.start_world()
        bridge = self.start_bridge("--wait", 600)
        peer = self.peer()
        peer.subscribe(*IMU)
        peer.subscribe(*CLOCK)
        peer.take("rt/car/imu", 30)
        world.terminate()
        world.wait(timeout=PATIENCE_S)
        self.start_world()
        self.until(lambda: "world 'test' restarted" in self.log(), "the next run", PATIENCE_S)
        for topic in ("rt/car/imu", "rt/clock"):
            peer.until(lambda: any(stamp_ns(b["values"]) < stamp_ns(a["values"]) for a, b in zip(peer.messages[topic], peer.messages[topic][1:])),
                       f"times of the next run on {topic}")
        self.end(bridge)
        self.assertIn(" 0 dropped", self.log())

    def test_killed_ten_times_while_the_world_runs(self):
        world, peer = self.start_world(), self.peer()
        peer.subscribe(*IMU)
        for _ in range(10):
            seen = peer.count("rt/car/imu")
            bridge = self.start_bridge()
            peer.take("rt/car/imu", 3, after=seen)
            bridge.send_signal(signal.SIGKILL)
            bridge.wait(timeout=300)
            self.assertIsNone(world.poll(), "the world runs on")

    def test_a_reader_that_stops_costs_no_record_of_the_rings(self):
        self.start_world()
        bridge = self.start_bridge()
        stopped, peer = self.peer(), self.peer()
        for one in (stopped, peer):
            one.subscribe(*IMU)
            one.take("rt/car/imu", 1)
        stopped.process.send_signal(signal.SIGSTOP)
        try:
            peer.take("rt/car/imu", 100, after=peer.count("rt/car/imu"))
        finally:
            stopped.process.send_signal(signal.SIGCONT)
        self.end(bridge)
        self.assertIn("0 records lost", self.log())

    def test_errors_of_the_command_line(self):
        for options, expected in ((("--domain", "233"), "0 to 232 is accepted"), (("--namespace", "sim"), "a name as /sim is accepted"),
                                  (("--wait", "x"), "is accepted"), (("car",), "unexpected argument 'car'")):
            done = subprocess.run([BIN / "otolith-ros2", *options], capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 2)
            self.assertIn(expected, done.stderr)


if __name__ == "__main__":
    if PEER == "":
        print("skipped: CMake found no Fast DDS (package libfastrtps-dev)")
        sys.exit(77)
    unittest.main()
