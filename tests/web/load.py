"""Measures the ticks of the default world with two pages in Chromium, a Foxglove client and a recorder, beside the same world
without them, and beside a program that has nothing to do with otolith but wakes as often and needs memory. In turns. Asserts
nothing.

usage: load.py FOLDER_OF_PROGRAMS CHECKOUT [SECONDS OF A TURN]
"""
import json
import os
import signal
import subprocess
import sys
import time

import browser
import web_case
from foxglove_client import start_foxglove_client
from web_case import WebCase

SECONDS = float(sys.argv.pop(3)) if len(sys.argv) > 3 else 30.0
TURNS = 3
STRANGER = """
import time
while True:
    block = bytes(8 << 20)
    copy = bytearray(block)
    time.sleep(0.01)
"""


class Load(WebCase):
    def readers(self, link):
        """Two pages, a Foxglove client and a recorder; returns what ends them."""
        shown = browser.Browser()
        client = start_foxglove_client(link, ["/car/imu", "/car/motion", "/car/odo", "/tf", "/diagnostics"])
        recorder = subprocess.Popen([self.program, "record", "-o", str(self.path / "load.mcap")], env=self.environment, stderr=subprocess.DEVNULL)
        for _ in range(2):
            shown.open(link.page("?w=10")).wait("otolith.charts.length >= 3 && otolith.world.time > 3", 300)

        def end():
            recorder.send_signal(signal.SIGINT)
            recorder.wait()
            os.kill(client, signal.SIGKILL)
            os.waitpid(client, 0)
            shown.close()
        return end

    def stranger(self, link):
        program = subprocess.Popen([sys.executable, "-c", STRANGER])

        def end():
            program.kill()
            program.wait()
        return end

    def turn(self, beside, begin=lambda link: lambda: None):
        link = self.start()
        end = begin(link)
        before = self.facts()
        time.sleep(SECONDS)
        after = self.facts()
        end()
        self.stop()
        ticks, late = after["tick"] - before["tick"], after["late"] - before["late"]
        overruns = after["overruns"] - before["overruns"]
        print(f"| {beside} | {after['work_us']['p50']:.2f} | {after['work_us']['p99']:.2f} | {after['lateness_us']['p50']:.1f} | "
              f"{after['lateness_us']['p99']:.1f} | {late} | {overruns} | {ticks} | {os.getloadavg()[0]:.1f} |", flush=True)

    def facts(self):
        facts = json.loads(self.otolith("top", "--json"))
        return facts

    def test_load(self):
        print("| beside | work p50 us | p99 | lateness p50 us | p99 | late ticks | overruns | ticks | load |\n|---|---|---|---|---|---|---|---|---|")
        for _ in range(TURNS):
            self.turn("nothing")
            self.turn("another program", self.stranger)
            self.turn("readers", self.readers)


if __name__ == "__main__":
    web_case.main("__main__")
