"""A world, otolith-ros2 beside it, and readers of other vendors on loopback: what the tests with each vendor share."""
import csv
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)).absolute() for _ in range(2))
sys.path.insert(0, str(SOURCE / "tests" / "support"))
from otolith_case import PATIENCE_S, OtolithCase  # noqa: E402

# Unicast on loopback only: a container's lo often has no multicast. PORT is that of a domain's multicast, where participants without a
# numbered port of their own receive. Nobody who stands still for some seconds is taken for dead.
CONFIGURATION = """<CycloneDDS><Domain>
<General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>15</MaxAutoParticipantIndex><Peers><Peer Address="127.0.0.1"/><Peer Address="127.0.0.1:PORT"/></Peers>
<LeaseDuration>3600s</LeaseDuration><SPDPInterval>500ms</SPDPInterval></Discovery></Domain></CycloneDDS>
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


def take_domain():
    """
    A domain whose first ports are free (7400 + 250 × domain, below the ports that the kernel gives to others), and the socket that holds it for one
    test: its port is one that DDS does not use.
    """
    while True:
        domain = random.randrange(2, 100)
        first = 7400 + 250 * domain
        held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            held.bind(("127.0.0.1", first + 249))
            for offset in (0, 10, 11):
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                    probe.bind(("127.0.0.1", first + offset))
            return domain, held
        except OSError:
            held.close()


def flat(message):
    """The numbers and texts of a decoded message, in the order of its definition."""
    if isinstance(message, (dict, list)):
        return [value for member in (message.values() if isinstance(message, dict) else message) for value in flat(member)]
    return [message]


class Peer:
    """A program with another vendor's DDS, and what it has reported as lines of JSON."""

    def __init__(self, command, environment, folder=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder)
        self.news = threading.Condition()
        self.messages, self.matched, self.lost, self.endpoints = {}, {}, {}, {}
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        for line in self.process.stdout:
            if not line.endswith("\n"):  # it was killed
                break
            report = json.loads(line)
            with self.news:
                if "topic" in report:
                    report.setdefault("values", flat(report.get("message")))
                    self.messages.setdefault(self.dds_topic(report["topic"]), []).append(report)
                elif "matched" in report:
                    self.matched[report["matched"]] = report["count"]
                elif "lost" in report:
                    self.lost[report["lost"]] = report["count"]
                else:
                    kind = next(iter(report))
                    self.endpoints[kind, report[kind]] = report
                self.news.notify_all()

    @staticmethod
    def dds_topic(name):
        return "rt" + name if name.startswith("/") else name

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


class Ros2Case(OtolithCase):
    peer_command = None  # another vendor's reader of self.domain
    peer_folder = None
    is_in_order = True  # whether that vendor delivers messages in their order, each once
    program = str(BIN / "otolith")

    def setUp(self):
        super().setUp()
        self.processes, self.logs = [], []
        self.domain, held = take_domain()
        self.addCleanup(held.close)
        self.environment["CYCLONEDDS_URI"] = CONFIGURATION.replace("PORT", str(7400 + 250 * self.domain))
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

    def peer(self, *options):
        peer = Peer([*self.peer_command(), *options], self.environment, self.peer_folder)
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
        """Messages whose numbers behind `head` values equal those columns of the segment's samples."""
        rows = self.rows(topic)
        first = max(rows)
        peer.subscribe(*subscription)

        def later():
            return [message["values"] for message in peer.messages.get(subscription[0], []) if stamp_ns(message["values"]) > first]
        peer.until(lambda: len(later()) >= count, f"{count} messages on {subscription[0]} behind those that the bridge had yet to send")
        values = later()[:count]
        self.until(lambda: all(stamp_ns(message) in rows for message in values), "the same samples", PATIENCE_S)
        for message in values:
            row = rows[stamp_ns(message)]
            self.assertEqual(message[head:head + len(columns)], [number(row[column]) for column in columns])
        stamps = [stamp_ns(message) for message in values]
        if self.is_in_order:
            self.assertEqual(stamps, sorted(set(stamps)), "in order, none twice")
        return values


class Messages:
    """Tests of the topics, for any vendor: mixed into a case whose peer() is that vendor's."""

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
        peer.endpoint("writer", "rt/clock")
        began_s = time.monotonic()
        peer.subscribe(*CLOCK, "reliable")

        def times():
            return [stamp_ns(message["values"]) for message in list(peer.messages.get("rt/clock", []))]
        peer.until(lambda: len(set(times())) >= 500, "500 times")
        self.assertLessEqual(500, 250 * (time.monotonic() - began_s) + 10, "at most 250 a second behind the history of ten")
        if self.is_in_order:
            self.assertEqual(times(), sorted(times()))
        at = int(re.fullmatch(r"paused at tick (\d+)\n", self.otolith("pause", "--world", "test")).group(1))

        def is_told():
            return at * 1_000_000 in {stamp_ns(message["values"]) for message in list(peer.messages["rt/clock"])}
        peer.until(is_told, "the time of the pause")
        for ticks in (1, 7, 5):
            self.otolith("step", "--world", "test", ticks)
            at += ticks
            peer.until(is_told, f"the time after {ticks} steps")
