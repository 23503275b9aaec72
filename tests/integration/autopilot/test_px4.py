"""otolith-px4 with npm's node-mavlink as PX4's end. Skips, saying so, where there is no npm or no registry."""
import json
import pathlib
import re
import signal
import subprocess
import sys
import unittest

BUILD = pathlib.Path(sys.argv.pop(3)).resolve()
from autopilot_case import BIN, SOURCE, AutopilotCase, free_ports  # noqa: E402
from npm import npm_folder  # noqa: E402


class OtolithPx4(AutopilotCase):
    bridge_program = "otolith-px4"
    imu_hz = 250

    def begin(self, *options, run=(), port=0, **world):
        self.place = npm_folder(self, BUILD, SOURCE, "px4.mjs", part="autopilot")
        self.start_world(*run, **world)
        return self.start_bridge(*options, port=port)

    def px4(self, port, steps, *options):
        """Flies so many samples; what the partner saw."""
        done = subprocess.run(["node", "px4.mjs", str(port), str(steps), *options], cwd=self.place, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        seen = json.loads(done.stdout)
        self.assertEqual(seen["crc"], 0)
        self.assertEqual(seen["badOrder"], [])
        return seen

    def test_every_message_is_as_px4_expects_it(self):
        bridge, port = self.begin("--imu", "imu", "--imu", "second")
        seen = self.px4(port, 500, "state")
        self.assertEqual(seen["ids"], {"0": 500, "1": 500})  # id 0 the last of each tick: the partner checks it
        self.assertEqual({b - a for a, b in zip(seen["times"], seen["times"][1:])}, {4000})  # each sample, none twice
        self.assertEqual(seen["mag"], 200)  # 100 Hz in 2 s
        self.assertEqual(seen["pressure"], 100)
        self.assertIn(seen["gps"], (9, 10, 11))
        self.assertIn(seen["heartbeats"], (2, 3))
        self.assertGreaterEqual(seen["state"], 240)  # requested every 5 ms, and a step is 4 ms: every second step
        self.assertAlmostEqual(seen["lastAccel"][2], -9.807, delta=0.1)
        self.assertAlmostEqual(seen["lastPressure"]["hpa"], 955.9, delta=2.0)  # the standard atmosphere at 488 m
        self.assertAlmostEqual(seen["lastPressure"]["altitude"], 488.0, delta=15.0)
        self.assertTrue(0.4 < sum(v * v for v in seen["lastMag"]) ** 0.5 < 0.55, seen["lastMag"])  # gauss, in Zurich
        self.assertAlmostEqual(seen["lastState"]["lat"] / 1e7, 47.397742, places=5)
        self.assertAlmostEqual(seen["lastState"]["zacc"], -1000, delta=20)  # thousandths of g
        self.assertAlmostEqual(seen["lastGps"]["lon"] / 1e7, 8.545594, places=3)
        self.end(bridge)

    def test_a_flight_starts_before_px4_answers_and_is_replayed_bit_for_bit(self):
        bridge, port = self.begin(run=("--log", self.path / "flight.log"))
        seen = self.px4(port, 500, "thrust=0.9", "state", "silent=20")
        self.assertLess(seen["lastState"]["vz"], -100)  # cm/s down: it rises
        self.end(bridge)
        self.end_world()
        first = re.search(r"first controls of the autopilot after (\d+) steps", self.log("bridge.log"))
        self.assertGreaterEqual(int(first.group(1)), 20)
        self.otolith("run", "--replay", self.path / "flight.log", "--mode", "asap", "--log", self.path / "again.log", "--quiet")
        self.otolith("verify", self.path / "flight.log", self.path / "again.log")

    def test_answers_that_do_not_come_are_counted(self):
        bridge, port = self.begin("--answer-timeout", "5")
        partner = subprocess.Popen(["node", "px4.mjs", str(port), "100000000", "deaf=30"], cwd=self.place, stdout=subprocess.PIPE, text=True)
        self.addCleanup(partner.stdout.close)
        self.until(lambda: "no answer within 5 ms" in self.log("bridge.log"), "an answer that does not come")
        self.end(bridge)
        self.assertEqual(json.loads(partner.communicate(timeout=300)[0])["badOrder"], [])
        self.assertRegex(self.log("bridge.log"), r"steps, [1-9]\d* not answered in time")

    def test_real_hardware_gets_no_truth(self):
        bridge, port = self.begin("--hitl", mode="realtime")
        seen = self.px4(port, 100, "state", "free")
        self.assertEqual(seen["state"], 0)
        self.end(bridge)
        lost = int(re.search(r"(\d+) samples lost", self.log("bridge.log")).group(1))
        missing = sum((b - a) // 4000 - 1 for a, b in zip(seen["times"], seen["times"][1:]))
        self.assertLessEqual(missing, lost)  # none is missing that is not counted

    def test_px4_and_the_world_may_restart(self):
        bridge, port = self.begin("--wait", 600)
        first = self.px4(port, 50)
        partner = subprocess.Popen(["node", "px4.mjs", str(port), "100000000"], cwd=self.place, stdout=subprocess.PIPE, text=True)
        self.addCleanup(partner.stdout.close)
        self.until(lambda: self.log("bridge.log").count("first controls") == 2, "the first controls")
        self.end_world()
        second = json.loads(partner.communicate(timeout=300)[0])  # disconnected: its clock cannot go back
        self.assertLess(first["times"][-1], second["times"][0])
        self.assertEqual(second["badOrder"], [])
        self.start_world()
        self.until(lambda: self.log("bridge.log").count("vehicle 'quad'") == 2, "the bridge to follow")
        self.end(bridge)

    def test_the_bridge_is_killed_ten_times_while_the_world_runs(self):
        bridge, port = self.begin(port=free_ports(1)[0])  # kept for the next bridge
        partner = subprocess.Popen(["node", "px4.mjs", str(port), "100000000", "again"], cwd=self.place, stdout=subprocess.PIPE, text=True)
        self.addCleanup(partner.stdout.close)
        for kill in range(10):
            self.until(lambda: self.log("bridge.log").count("first controls") == kill + 1, "the first controls")
            bridge.send_signal(signal.SIGKILL)
            bridge.wait(timeout=300)
            bridge, _ = self.start_bridge(port=port)
        self.until(lambda: self.log("bridge.log").count("first controls") == 11, "the first controls")
        partner.terminate()
        self.assertEqual(json.loads(partner.communicate(timeout=300)[0])["badOrder"], [])  # its clock never goes back
        self.end(bridge)
        self.assertEqual(self.end_world()["overruns"], 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
