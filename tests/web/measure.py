"""Measures the page with eight channels at 1 kHz in Chromium: frames a second, processor time, memory. Asserts nothing.

usage: measure.py FOLDER_OF_PROGRAMS CHECKOUT [SECONDS]
"""
import os
import sys
import time

import browser
import web_case
from web_case import EIGHT_QUERY, WebCase

SECONDS = float(sys.argv.pop(3)) if len(sys.argv) > 3 else 60.0


def processor_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def browser_s(shown):
    """Processor time of Chromium with all its processes, which are one session."""
    total = 0.0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getsid(int(name)) == shown.process.pid:
                total += processor_s(int(name))
        except OSError:
            pass
    return total


class Measure(WebCase):
    def test_measure(self):
        shown = browser.Browser()
        self.addCleanup(shown.close)
        link = self.start(self.source / "tests/web/eight.yaml")
        page = shown.open(link.page(EIGHT_QUERY), height=1000)
        page.wait("otolith.charts.length === 4 && otolith.world.time > 12", 120)
        web = self.children("otolith-web")[0]
        start, spent, first, all_spent = time.monotonic(), processor_s(web), self.facts(page), browser_s(shown)
        rates = []
        print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        while time.monotonic() - start < SECONDS:
            time.sleep(5)
            facts = self.facts(page)
            rates.append(facts["fps"])
            print(f"{time.monotonic() - start:6.0f} s  {facts['fps']:5.1f} frames/s  {facts['cost_ms']:5.1f} ms a frame  heap {facts['heap_mib']:6.1f} MiB  "
                  f"arrays {facts['arrays_mib']:6.1f} MiB  lost {facts['lost']}  otolith-web {self.resident_kib(web) / 1024:.1f} MiB", flush=True)
        elapsed, last = time.monotonic() - start, self.facts(page)
        frames = last["drawn"] - first["drawn"]
        print(f"{frames} frames, {1000 * (browser_s(shown) - all_spent) / max(1, frames):.1f} ms of processor time each, with all of Chromium")
        print(f"median {sorted(rates)[len(rates) // 2]:.1f} frames/s; main thread of the page {(last['task_s'] - first['task_s']) / elapsed:.2f} of a core, "
              f"scripts {(last['script_s'] - first['script_s']) / elapsed:.2f}; otolith-web {(processor_s(web) - spent) / elapsed:.3f}; "
              f"received {(last['received'] - first['received']) / elapsed / 1e6:.2f} MB/s; errors {page.errors}")

    def facts(self, page):
        metrics = {each["name"]: each["value"] for each in page.call("Performance.getMetrics")["metrics"]}
        own = page.run("({fps: otolith.fps, drawn: otolith.drawn, cost_ms: otolith.cost_ms, lost: otolith.world.lost, received: otolith.link.received})")
        arrays = page.run("""[...otolith.world.subscriptions.values()].reduce((sum, { ring }) => sum + ring.capacity * (9 + 8 * ring.values.length * (1 + 2 / 64)), 0)""")
        return dict(own, task_s=metrics["TaskDuration"], script_s=metrics["ScriptDuration"], heap_mib=metrics["JSHeapUsedSize"] / 1048576,
                    arrays_mib=arrays / 1048576)


if __name__ == "__main__":
    web_case.main("__main__")
