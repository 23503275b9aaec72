"""Measures both bridges at 1 kHz with their example worlds: CPU time of bridge and world for a step, and the time from a servo packet to its reply.

usage: measure.py BIN SOURCE BUILD
"""
import os
import pathlib
import subprocess
import sys
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(3)).resolve()
import autopilot_case  # noqa: E402
from npm import npm_folder  # noqa: E402
from test_ardupilot import HOVER_US, Sitl  # noqa: E402

STEPS = 10_000


def family(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(one for child in children for one in family(int(child)))]


def cpu_s(pid):
    """Of a process and its children."""
    used = 0
    for one in family(pid):
        fields = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(") ", 1)[1].split()
        used += int(fields[11]) + int(fields[12])
    return used / os.sysconf("SC_CLK_TCK")


class Figures(autopilot_case.AutopilotCase):
    def begin(self, world, program, *options):
        text = (autopilot_case.SOURCE / "configs" / "worlds" / f"{world}.yaml").read_text()
        self.world_text = text.replace(f"world: {world}", "world: test").replace("rate_hz: 250", "rate_hz: 1000")
        self.bridge_program = program
        self.start_world()
        return self.start_bridge(*options)

    def report(self, bridge, fly):
        """CPU time of each step of a flight; `fly` makes STEPS of them."""
        before = cpu_s(bridge.pid), cpu_s(self.world.pid)
        fly()
        used = [1e6 * (now - then) / STEPS for now, then in zip((cpu_s(bridge.pid), cpu_s(self.world.pid)), before)]
        anonymous = [line.split()[1] for line in pathlib.Path(f"/proc/{bridge.pid}/status").read_text().splitlines() if line.startswith("RssAnon")][0]
        print(f"{self.bridge_program}: bridge {used[0]:.0f} us a step, world {used[1]:.0f} us, {anonymous} kB of its own; load {os.getloadavg()[0]:.0f}")

    def test_ardupilot(self):
        bridge, port = self.begin("quadrotor", "otolith-ardupilot")
        partner = Sitl(port, rate_hz=1000)
        self.addCleanup(partner.close)
        for pace_s in (0.001, 0):
            took_s = []

            def fly():
                due_s = time.monotonic()
                for _ in range(STEPS):
                    due_s += pace_s
                    time.sleep(max(0.0, due_s - time.monotonic()))
                    sent_s = time.monotonic()
                    partner.frame([HOVER_US] * 4)
                    took_s.append(time.monotonic() - sent_s)
            self.report(bridge, fly)
            took_s.sort()
            print(f"  packet to reply {'at 1 kHz' if pace_s else 'without a pace'}: {1000 * took_s[STEPS // 2]:.2f} ms (p50), {1000 * took_s[STEPS * 99 // 100]:.2f} ms (p99)")

    def test_px4(self):
        place = npm_folder(self, BUILD, autopilot_case.SOURCE, "px4.mjs", part="autopilot")
        bridge, port = self.begin("quadrotor_px4", "otolith-px4", "--imu", "imu_a")
        self.report(bridge, lambda: subprocess.run(["node", "px4.mjs", str(port), str(STEPS), "thrust=0.7"], cwd=place, check=True, stdout=subprocess.DEVNULL))


if __name__ == "__main__":
    unittest.main()
