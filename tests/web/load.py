"""Measures what readers cost the ticks: two pages in Chromium, a Foxglove client and a recorder, which read one of two like worlds in
turn. Both worlds run all the time, and the readers load the machine in either case, so the two differ only in what attached readers
do to a tick. A third turn is without readers. Asserts nothing.

usage: load.py FOLDER_OF_PROGRAMS CHECKOUT [SECONDS OF A TURN] [TURNS]
"""
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

import browser
import web_case
from foxglove_client import start_foxglove_client
from web_case import Link, WebCase

SECONDS = float(sys.argv.pop(3)) if len(sys.argv) > 3 else 10.0
TURNS = int(sys.argv.pop(3)) if len(sys.argv) > 3 else 3
BUCKETS = 256                          # of a histogram in the segment header
AT = {"lateness": 4096, "work": 4096 + 8 * (BUCKETS + 8)}
COUNTERS_AT, LATE, OVERRUNS, WAKES = 896, 1, 2, 14
WORLDS = ("one", "two")


def bounds_us(bucket):
    """The bounds of a histogram's bucket, as segment.h has it."""
    if bucket < 8:
        return bucket * 1e-3, (bucket + 1) * 1e-3
    exponent = bucket // 8 + 2
    width = 2 ** (exponent - 3)
    return (2 ** exponent + bucket % 8 * width) * 1e-3, (2 ** exponent + (bucket % 8 + 1) * width) * 1e-3


def quantile_us(counts, part):
    """Interpolated in its bucket, whose width is an eighth of its value."""
    wanted, below = part * sum(counts), 0
    for bucket, count in enumerate(counts):
        if count > 0 and below + count >= wanted:
            low, high = bounds_us(bucket)
            return low + (high - low) * (wanted - below) / count
        below += count
    return float("nan")


class Segment:
    """The header of a server's segment, read without a client."""

    def __init__(self, pid):
        files = pathlib.Path(f"/proc/{pid}/fd").iterdir()
        path = next(each for each in files if os.readlink(each).startswith("/memfd:otolith-segment"))
        self.file = os.open(path, os.O_RDONLY)

    def read(self):
        facts = {name: struct.unpack(f"<{BUCKETS}Q", os.pread(self.file, 8 * BUCKETS, at)) for name, at in AT.items()}
        facts["counters"] = struct.unpack("<64Q", os.pread(self.file, 512, COUNTERS_AT))
        return facts


class Load(WebCase):
    def begin(self, world):
        program = self.binaries / "otolithd"
        server = subprocess.Popen([program, self.city, "--set", f"world={world}", "--set", 'web={listen: "127.0.0.1:0"}'], env=self.environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, cwd=self.path)
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        self.until(lambda: self.call("web", "--world", world).returncode == 0, "the world")
        return Link(self.otolith("web", "--control", "--world", world).strip()), Segment(server.pid)

    def attach(self, world):
        """Two pages, a Foxglove client and a recorder; returns what ends them."""
        link = self.worlds[world][0]
        client = start_foxglove_client(link, [f"/car/{name}" for name in ("imu", "motion", "odo")] + ["/tf", "/diagnostics"])
        recorder = subprocess.Popen([self.program, "record", "--world", world, "-o", str(self.path / "load.mcap")], env=self.environment,
                                    stderr=subprocess.DEVNULL)
        pages = [self.shown.open(link.page("?w=10")) for _ in range(2)]
        for page in pages:
            page.wait("otolith.charts.length >= 3 && otolith.charts[0].lines[0].data.ring.count > 50", 300)

        def end():
            for page in pages:
                page.close()
            recorder.send_signal(signal.SIGINT)
            recorder.wait()
            os.kill(client, signal.SIGKILL)
            os.waitpid(client, 0)
        return end

    def measure(self):
        before = [self.worlds[world][1].read() for world in WORLDS]
        time.sleep(SECONDS)
        after = [self.worlds[world][1].read() for world in WORLDS]
        return [{key: [b - a for a, b in zip(first[key], last[key])] for key in first} for first, last in zip(before, after)]

    def show(self, beside, facts):
        work, late, counters = facts["work"], facts["lateness"], facts["counters"]
        self.sums.setdefault(beside, []).append(facts)
        print(f"| {beside} | {quantile_us(work, 0.5):.2f} | {quantile_us(work, 0.99):.2f} | {quantile_us(late, 0.5):.1f} | {quantile_us(late, 0.99):.1f} | "
              f"{counters[LATE]} | {counters[OVERRUNS]} | {counters[WAKES]} | {sum(work)} | {os.getloadavg()[0]:.1f} |", flush=True)

    def test_load(self):
        self.shown = browser.Browser()
        self.addCleanup(self.shown.close)
        self.worlds = {world: self.begin(world) for world in WORLDS}
        self.sums = {}
        print("| readers | work p50 us | p99 | lateness p50 us | p99 | late ticks | overruns | wakes | ticks | load |\n|---|---|---|---|---|---|---|---|---|---|")
        for _ in range(TURNS):
            for facts in self.measure():
                self.show("none", facts)
            for k, world in enumerate(WORLDS):
                end = self.attach(world)
                facts = self.measure()
                end()
                self.show("of this world", facts[k])
                self.show("of the other world", facts[1 - k])
        print()
        for beside, parts in self.sums.items():
            self.show(beside, {key: [sum(values) for values in zip(*(part[key] for part in parts))] for key in parts[0]})


if __name__ == "__main__":
    web_case.main("__main__")
