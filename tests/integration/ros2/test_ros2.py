"""otolith-ros2 with another vendor's DDS, eProsima Fast DDS, on loopback. Exits with 77 where the reader was not built."""
import itertools
import signal
import struct
import subprocess
import sys
import unittest

import ros2_case
from ros2_case import BIN, CLOCK, IMU, PATIENCE_S, WORLD, stamp_ns

PEER = sys.argv.pop(1)


class OtolithRos2(ros2_case.Messages, ros2_case.Ros2Case):
    def peer_command(self):
        return [PEER, str(self.domain)]

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
        peer.until(lambda: any(kind == "participant" and report["user_data"] == "enclave=/;" for (kind, _), report in peer.endpoints.items()),
                   "a participant with an enclave")

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

    def test_bridge_and_reader_are_killed_ten_times_while_the_world_runs(self):
        self.environment["CYCLONEDDS_URI"] = self.environment["CYCLONEDDS_URI"].replace("3600s", "3s")  # the dead are noticed
        world, topic, peers = self.start_world(), "rt/car/motion/record", []

        def read():
            peers.append(self.peer())
            peers[-1].subscribe(topic, "otolith_msgs::msg::dds_::Truth_", "iIsQqI20d")
            return peers[-1]
        survivor = read()
        for _ in range(10):
            seen = survivor.count(topic)
            bridge, killed = self.start_bridge(), read()
            killed.take(topic, 3)
            survivor.take(topic, 3, after=seen)
            for process in (killed.process, bridge):
                process.kill()
                process.wait(timeout=PATIENCE_S)
            self.assertIsNone(world.poll(), "the world runs on")
        for peer in peers:
            messages = [message["values"] for message in list(peer.messages[topic])]  # the survivor may still receive
            numbers = [values[3] for values in messages]
            self.assertEqual(numbers, [stamp_ns(values) // 10_000_000 for values in messages], "a gap of seq is what was lost")
            self.assertEqual(numbers, sorted(set(numbers)))

    def test_a_stopped_reader_is_told_its_losses_and_delays_nobody(self):
        self.start_world()
        bridge = self.start_bridge()
        stopped, peer = self.peer("16384"), self.peer()
        for one in (stopped, peer):
            one.subscribe(*IMU)
            one.take("rt/car/imu", 1)

        def stop():
            """
            Tells whether bridge and reader have said that samples were lost. Fast DDS counts those that the first heartbeat no longer offers; for those
            that it asks for and that are gone by then, Cyclone answers that they do not matter, and these it does not count. On a busy machine it may
            find nothing lost, or count only a part.
            """
            stopped.process.send_signal(signal.SIGSTOP)
            try:
                peer.take("rt/car/imu", 150, after=peer.count("rt/car/imu"))
            finally:
                stopped.process.send_signal(signal.SIGCONT)
            stopped.take("rt/car/imu", 60, after=stopped.count("rt/car/imu"))
            return "a reader missed messages" in self.log() and stopped.lost.get("rt/car/imu", 0) > 0
        self.until(stop, "a loss that bridge and reader report", PATIENCE_S)
        numbers = [stamp_ns(message["values"]) // 20_000_000 for message in list(stopped.messages["rt/car/imu"])]
        self.assertEqual(numbers, sorted(set(numbers)), "in order, none twice")
        self.assertLess(len(numbers), numbers[-1] - numbers[0] + 1, "lost samples leave a gap")
        self.end(bridge)

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
