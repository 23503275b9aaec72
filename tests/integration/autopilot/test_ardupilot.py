"""otolith-ardupilot against a partner written from ArduPilot's libraries/SITL/examples/JSON/readme.md and SIM_JSON.cpp."""
import json
import math
import random
import re
import signal
import socket
import struct
import threading
import time
import unittest

from autopilot_case import AutopilotCase, free_ports

TWO = """
world: test
seed: 3
clock: {rate_hz: 1000, mode: lockstep}
participants: [{name: left, wait_limit_s: 3600}, {name: right, wait_limit_s: 3600}]
vehicles:
  - {name: a, motion: {plugin: motion_multirotor, controls: left}, nodes: [{name: imu, plugin: mems_imu, rate_hz: 1000}]}
  - {name: b, motion: {plugin: motion_multirotor, controls: right}, nodes: [{name: imu, plugin: mems_imu, rate_hz: 1000}]}
publish: false
"""
HOVER_US = 1678  # of the default quadrotor: sqrt(1.5 kg g / 4 / 8 N)


class Sitl:
    """ArduPilot's end: sends servo outputs, waits for a line, and sends them again without one.

    resend_s: less where packets or the bridge are lost; a resend because of a busy machine would be counted by the bridge.
    """

    def __init__(self, port, rate_hz=400, channels=16, resend_s=300):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.connect(("127.0.0.1", port))
        self.rate_hz, self.channels, self.resend_s = rate_hz, channels, resend_s
        self.count, self.resends, self.last_s = 0, 0, -1.0

    def close(self):
        self.socket.close()

    def packet(self, pwm, count=None):
        values = list(pwm) + [0] * (self.channels - len(pwm))
        magic = 18458 if self.channels == 16 else 29569
        return struct.pack(f"<HHI{self.channels}H", magic, self.rate_hz, self.count if count is None else count, *values)

    def send(self, pwm, count=None):
        try:
            self.socket.send(self.packet(pwm, count))
        except ConnectionRefusedError:  # of an earlier packet: nobody listens at the moment
            pass

    def receive(self, timeout_s=300):
        """A line as SIM_JSON.cpp finds it: between two newlines, a value directly behind each colon."""
        self.socket.settimeout(timeout_s)
        line = self.socket.recv(4096).decode()
        assert line[0] == "\n" and line[-1] == "\n" and line.count("\n") == 2, line
        assert not re.search(r":\s", line), line
        return json.loads(line)

    def frame(self, pwm, patience=3000, over=None):
        """One frame; a second reply to an earlier one has an instant that is known. None: the event `over` came first."""
        for _ in range(patience):
            if over is not None and over.is_set():
                return None
            self.send(pwm)
            try:
                while (state := self.receive(self.resend_s))["timestamp"] <= self.last_s:
                    pass
            except ConnectionRefusedError:  # nobody listens at the moment
                time.sleep(0.1)
            except TimeoutError:
                self.resends += 1
            else:
                self.count, self.last_s = self.count + 1, state["timestamp"]
                return state
        raise AssertionError("no reply")


class LossyRoad:
    """Between partner and bridge: loses, repeats and reorders packets in both directions, by a fixed seed."""

    def __init__(self, port, seed):
        self.random, self.target, self.peer, self.held = random.Random(seed), ("127.0.0.1", port), None, None
        self.near, self.far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.near.bind(("127.0.0.1", 0))
        self.far.bind(("127.0.0.1", 0))
        self.port, self.ends = self.near.getsockname()[1], False
        self.threads = [threading.Thread(target=self.there), threading.Thread(target=self.back)]
        for thread in self.threads:
            thread.start()

    def there(self):
        while True:
            packet, self.peer = self.near.recvfrom(4096)
            if self.ends:
                return
            luck = self.random.random()
            if luck < 0.1:
                continue
            self.far.sendto(packet, self.target)
            if luck < 0.2:
                self.far.sendto(packet, self.target)
            elif luck < 0.3 and self.held is not None:
                self.far.sendto(self.held, self.target)  # an old one, after the newer
            self.held = packet

    def back(self):
        luck = random.Random(5)
        while True:
            packet = self.far.recv(4096)
            if self.ends:
                return
            if luck.random() >= 0.1 and self.peer is not None:
                self.near.sendto(packet, self.peer)

    def close(self):
        self.ends = True
        for end in (self.near, self.far):
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
                waker.sendto(b"", end.getsockname())
        for thread in self.threads:
            thread.join()
        self.near.close()
        self.far.close()


class OtolithArdupilot(AutopilotCase):
    bridge_program = "otolith-ardupilot"

    def sitl(self, port, **options):
        partner = Sitl(port, **options)
        self.addCleanup(partner.close)
        return partner

    def begin(self, *options, bridge=(), port=0, **world):
        self.start_world(*options, **world)
        return self.start_bridge(*bridge, port=port)

    # ---- the protocol ----

    def test_at_rest_the_state_is_that_of_the_ground(self):
        bridge, port = self.begin()
        partner = self.sitl(port)
        state = partner.frame([1000] * 4)
        down_m_s2 = state["imu"]["accel_body"][2]
        self.assertAlmostEqual(down_m_s2, -9.807, delta=0.1)  # forward, right, down: the ground pushes up
        self.assertAlmostEqual(state["position"][2], -0.098, delta=0.001)
        for value, wanted in zip(state["quaternion"], (math.sqrt(0.5), 0, 0, math.sqrt(0.5))):  # the nose points east
            self.assertAlmostEqual(value, wanted, places=6)
        self.end(bridge)

    def test_each_frame_is_one_step_of_the_autopilots_rate(self):
        bridge, port = self.begin()
        partner = self.sitl(port, rate_hz=400)
        stamps = [partner.frame([1000] * 4)["timestamp"] for _ in range(400)]
        self.assertAlmostEqual(stamps[-1], 1.0, places=9)  # 400 frames of 2.5 ms: no drift on a clock of 1 ms
        steps_ms = {round((b - a) * 1e3, 6) for a, b in zip(stamps, stamps[1:])}
        self.assertEqual(steps_ms, {2.0, 3.0})
        self.end(bridge)

    def test_a_rate_above_the_worlds_clock_never_repeats_an_instant(self):
        bridge, port = self.begin()
        partner = self.sitl(port, rate_hz=1200)
        stamps = [partner.frame([1000] * 4)["timestamp"] for _ in range(200)]
        self.assertTrue(all(a < b for a, b in zip(stamps, stamps[1:])))
        self.end(bridge)

    def test_packets_of_16_and_of_32_channels_fly_the_same(self):
        heights = []
        for channels in (16, 32):
            bridge, port = self.begin()
            partner = self.sitl(port, channels=channels)
            for _ in range(400):
                state = partner.frame([1900] * 4)
            heights.append(state["position"][2])
            self.end(bridge)
            self.end_world()
        self.assertLess(heights[0], -1.0)  # it has risen
        self.assertEqual(heights[0], heights[1])

    def test_motors_turn_the_vehicle_as_on_a_quad_x(self):
        bridge, port = self.begin()
        partner = self.sitl(port)
        for _ in range(100):
            partner.frame([1800] * 4)
        for _ in range(20):
            state = partner.frame([1750, 1850, 1850, 1750])  # 1 front right, 2 rear left, 3 front left, 4 rear right
        self.assertGreater(state["imu"]["gyro"][0], 0.1)  # the left side rises: a roll to the right
        self.end(bridge)

    def test_packets_of_another_format_are_counted_and_ignored(self):
        bridge, port = self.begin()
        partner = self.sitl(port)
        for bad in (b"", b"\x00" * 40, partner.packet([0])[:-1], partner.packet([0]) + b"\x00", b"x" * 72):
            partner.socket.send(bad)
        self.assertEqual(partner.frame([1000])["timestamp"], 0.003)
        self.end(bridge)
        self.assertIn("5 packets of another format", self.log("bridge.log"))

    # ---- what UDP does ----

    def test_a_repeated_frame_gets_the_same_reply_and_no_step(self):
        bridge, port = self.begin()
        partner = self.sitl(port)
        first = partner.frame([1500] * 4)
        partner.send([1500] * 4, count=0)
        self.assertEqual(partner.receive(), first)
        self.assertGreater(partner.frame([1500] * 4)["timestamp"], first["timestamp"])
        self.end(bridge)
        self.assertIn("2 frames, 0 lost, 0 late, 1 resent", self.log("bridge.log"))

    def test_lost_and_late_frames_are_counted(self):
        bridge, port = self.begin()
        partner = self.sitl(port)
        partner.frame([1000] * 4)
        partner.send([1000] * 4, count=5)
        partner.send([1000] * 4, count=3)  # overtaken; half a second later it would be of an autopilot that has restarted
        partner.receive()
        partner.send([1000] * 4, count=6)
        partner.receive()
        self.end(bridge)
        self.assertIn("3 frames, 4 lost, 1 late, 0 resent", self.log("bridge.log"))

    def test_a_flight_over_a_lossy_road_is_the_flight_over_a_good_one(self):
        flights = []
        for lossy in (False, True):
            bridge, port = self.begin()
            road = LossyRoad(port, seed=1) if lossy else None
            partner = self.sitl(road.port, resend_s=0.1) if lossy else self.sitl(port)
            flights.append([partner.frame([HOVER_US + 100 + i % 3] * 4) for i in range(100)])
            if lossy:
                self.assertGreater(partner.resends, 5)
                road.close()
            self.end(bridge)
            self.end_world()
        self.assertEqual(flights[0], flights[1])

    # ---- ends and restarts ----

    def test_a_restarted_autopilot_continues_in_the_same_world(self):
        bridge, port = self.begin()
        first = self.sitl(port)
        for _ in range(40):
            state = first.frame([1000] * 4)
        second = self.sitl(port)
        self.assertGreater(second.frame([1000] * 4)["timestamp"], state["timestamp"])
        self.end(bridge)
        self.assertIn("1 restarts of the autopilot", self.log("bridge.log"))

    def test_two_autopilots_fly_in_lockstep_with_one_world_and_their_bridges_may_be_killed(self):
        """At 400 and 250 frames a second; the world waits for both, so that a replay of the controls gives the same bits."""
        self.world_text = TWO
        self.start_world("--log", self.path / "flight.log")
        pilots = {}
        for (name, rate_hz), port in zip((("left", 400), ("right", 250)), free_ports(2)):  # kept for the next bridge
            bridge, _ = self.start_bridge("--participant", name, port=port)
            pilots[name] = [bridge, port, self.sitl(port, rate_hz=rate_hz, resend_s=0.1), threading.Event(), []]
        self.assertEqual(self.log("bridge.log").count("lockstep: the world waits for the autopilot"), 2)

        over = threading.Event()

        def fly(partner, pwm, half, altitudes):
            """Left flies until right has made its two seconds: the world waits for both."""
            while not over.is_set() and (state := partner.frame([pwm] * 4, patience=6000, over=over)) is not None:
                altitudes.append((state["timestamp"], -state["position"][2]))
                if partner.rate_hz == 250 and len(altitudes) == 250:
                    half.set()
                if partner.rate_hz == 250 and len(altitudes) == 500:
                    over.set()

        flights = [threading.Thread(target=fly, args=(partner, 1900 if name == "left" else 1000, half, altitudes))
                   for name, (_, _, partner, half, altitudes) in pilots.items()]
        self.addCleanup(over.set)
        for flight in flights:
            flight.start()
        self.assertTrue(pilots["right"][3].wait(timeout=600))
        for _ in range(3):
            pilots["right"][0].send_signal(signal.SIGKILL)
            pilots["right"][0].wait(timeout=300)
            pilots["right"][0], _ = self.start_bridge("--participant", "right", port=pilots["right"][1])
        for flight in flights:
            flight.join(timeout=600)
            self.assertFalse(flight.is_alive())
        for name, rate_hz in (("left", 400), ("right", 250)):
            altitudes = pilots[name][4]
            self.assertAlmostEqual(altitudes[-1][0], 2.0, delta=0.05)  # a frame that a killed bridge did not answer is made again
            self.assertEqual(sorted(altitudes), altitudes)
            self.end(pilots[name][0])
        self.assertGreater(pilots["left"][4][-1][1], 5.0)
        self.assertAlmostEqual(pilots["right"][4][-1][1], 0.1, delta=0.05)
        self.end_world()
        self.otolith("run", "--replay", self.path / "flight.log", "--mode", "asap", "--log", self.path / "again.log", "--quiet")
        self.otolith("verify", self.path / "flight.log", self.path / "again.log")

    def test_the_bridge_is_killed_ten_times_while_the_world_runs(self):
        bridge, port = self.begin(port=free_ports(1)[0])  # kept for the next bridge
        partner = self.sitl(port, resend_s=0.1)
        last_s, frames = 0.0, 0
        for _ in range(10):
            for _ in range(20):
                state = partner.frame([HOVER_US] * 4)
                self.assertGreater(state["timestamp"], last_s)
                last_s, frames = state["timestamp"], frames + 1
            bridge.send_signal(signal.SIGKILL)
            bridge.wait(timeout=300)
            bridge, _ = self.start_bridge(port=port)
        partner.frame([HOVER_US] * 4)
        self.end(bridge)
        summary = self.end_world()
        self.assertEqual(summary["overruns"], 0)
        self.assertAlmostEqual(last_s, frames / 400, delta=0.03)  # a restart loses no time: the world stood still

    def test_the_bridge_follows_the_world_to_its_next_run(self):
        bridge, port = self.begin(bridge=("--wait", 600))
        partner = self.sitl(port, resend_s=0.1)
        partner.frame([1000] * 4)
        self.end_world()
        self.start_world()
        self.until(lambda: self.log("bridge.log").count("vehicle 'quad'") == 2, "the bridge to follow")
        partner.last_s = -1.0
        self.assertLess(partner.frame([1000] * 4)["timestamp"], 0.01)
        self.end(bridge)

    def test_without_lockstep_the_world_runs_by_itself(self):
        bridge, port = self.begin(mode="realtime")
        partner = self.sitl(port)
        stamps = [partner.frame([1900] * 4) for _ in range(200)]
        self.assertTrue(all(a["timestamp"] < b["timestamp"] for a, b in zip(stamps, stamps[1:])))
        self.assertLess(stamps[-1]["position"][2], -0.2)
        self.assertIn("the world runs by itself", self.log("bridge.log"))
        self.end(bridge)

    def test_a_logged_flight_is_replayed_bit_for_bit(self):
        bridge, port = self.begin("--log", self.path / "flight.log")
        partner = self.sitl(port)
        for i in range(300):
            state = partner.frame([HOVER_US + 150 - i % 7] * 4)
        self.end(bridge)
        ticks = self.end_world()["ticks"]
        self.assertEqual(ticks, round(state["timestamp"] * 1000))
        self.otolith("run", "--replay", self.path / "flight.log", "--mode", "asap", "--log", self.path / "again.log", "--quiet")
        self.otolith("verify", self.path / "flight.log", self.path / "again.log")

    def test_a_world_without_controls_is_refused_with_a_sentence(self):
        (self.path / "plain.yaml").write_text("world: test\nclock: {mode: external, master: autopilot}\n"
                                              "vehicles: [{name: car, motion: {plugin: motion_script}}]\npublish: false\n")
        self.start(self.program, "run", self.path / "plain.yaml", "--quiet", log="world.log")
        self.until(lambda: self.call("ls", "--world", "test").returncode == 0, "the world")
        bridge = self.start(self.path.__class__(self.program).with_name(self.bridge_program), "--world", "test", log="bridge.log")
        self.assertEqual(bridge.wait(timeout=300), 1)
        self.assertIn("controls no vehicle", self.log("bridge.log"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
