"""Measures memory over a long time: two pages in Chromium and a Foxglove client on eight channels at 1 kHz. Prints a row each
minute, asserts nothing.

usage: memory.py FOLDER_OF_PROGRAMS CHECKOUT [MINUTES]
"""
import os
import signal
import sys
import time

import browser
import web_case
from foxglove_client import start_foxglove_client
from web_case import EIGHT_QUERY, WebCase

MINUTES = int(sys.argv.pop(3)) if len(sys.argv) > 3 else 30
STEP_S = 60
MIB = 1048576


class Memory(WebCase):
    def anonymous_kib(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("RssAnon"))

    def heap_mib(self, page):
        page.call("HeapProfiler.collectGarbage")
        return page.run("performance.memory.usedJSHeapSize") / MIB

    def test_memory(self):
        link = self.start(self.source / "tests/web/eight.yaml")
        shown = browser.Browser()
        self.addCleanup(shown.close)
        client = start_foxglove_client(link, [f"/car/imu{i}" for i in range(1, 9)])
        self.addCleanup(lambda: (os.kill(client, signal.SIGKILL), os.waitpid(client, 0)))
        pages = [shown.open(link.page(EIGHT_QUERY), height=1000) for _ in range(2)]
        for page in pages:
            page.wait("otolith.charts.length === 4 && otolith.world.time > 12", 300)
        web = self.children("otolith-web")[0]
        print("| minute | otolith-web, resident MiB | of which anonymous | heap of page 1 MiB | of page 2 | lost of page 1 | of page 2 |\n|---|---|---|---|---|---|---|", flush=True)
        start = time.monotonic()
        for minute in range(MINUTES + 1):
            while time.monotonic() < start + minute * STEP_S:
                time.sleep(1)
            heaps = [self.heap_mib(page) for page in pages]
            lost = [page.run("otolith.world.lost") for page in pages]
            print(f"| {minute} | {self.resident_kib(web) / 1024:.1f} | {self.anonymous_kib(web) / 1024:.2f} | {heaps[0]:.2f} | {heaps[1]:.2f} | {lost[0]} | {lost[1]} |", flush=True)
        print([page.errors for page in pages])


if __name__ == "__main__":
    web_case.main("__main__")
