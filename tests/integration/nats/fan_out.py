#!/usr/bin/python3
"""Measures otolith-nats with 200 subscribers of which one is stopped: gaps, delays of the tick, and what the server reports.

usage: fan_out.py BIN SOURCE [SUBSCRIBERS [SECONDS]]
"""
import json
import os
import pathlib
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BIN, SOURCE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
SUBSCRIBERS, SECONDS = [int(word) for word in sys.argv[3:5] if word.isdigit()] or [200, 40]
sys.path.insert(0, str(SOURCE / "tests" / "support"))
from nats_client import Nats  # noqa: E402

PORT = 14777
SEQ = re.compile(rb"\xa3seq(?:([\x00-\x7f])|\xcc(.)|\xcd(..)|\xce(....)|\xcf(.{8}))", re.S)
COUNT = re.compile(rb"\xa7samples(?:([\x90-\x9f])|\xdc(..))", re.S)


def number(match):
    return next((int.from_bytes(group, "big") for group in match.groups() if group is not None), 0)


class Counter:
    """Frames, records and gaps of one subscriber; expects the frames of one topic."""

    def __init__(self):
        self.frames = self.records = self.gaps = self.missing = 0
        self.expected = None

    def take(self, payload):
        first, count = number(SEQ.search(payload)), COUNT.search(payload)
        records = count[1][0] & 15 if count[1] else int.from_bytes(count[2], "big")
        if self.expected is not None and first != self.expected:
            self.gaps, self.missing = self.gaps + 1, self.missing + first - self.expected
        self.expected = first + records
        self.frames, self.records = self.frames + 1, self.records + records


def take_all(client, counter):
    """Everything that has arrived."""
    client.buffer += client.socket.recv(1 << 18)
    while b"\r\n" in client.buffer:
        line, rest = client.buffer.split(b"\r\n", 1)
        if line.startswith(b"MSG"):
            size = int(line.rsplit(b" ", 1)[1])
            if len(rest) < size + 2:
                return
            counter.take(rest[:size])
            rest = rest[size + 2:]
        elif line == b"PING":
            client.send(b"PONG\r\n")
        client.buffer = rest


def subscribe_only():
    """The subscriber that is stopped: a process of its own, which subscribes to everything."""
    client = Nats(PORT, name="stopped")
    client.subscribe("otolith.demo.>")
    print("subscribed", flush=True)
    while True:
        client.more()
        client.buffer = b""


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="otolith-nats-"))
    folder.chmod(0o700)
    environment, processes = dict(os.environ, XDG_RUNTIME_DIR=str(folder)), []
    # max_pending is small, so that the server meets its limit within the measurement.
    (folder / "server.conf").write_text(f"listen: 127.0.0.1:{PORT}\nmax_pending: 4194304\njetstream {{store_dir: '{folder}/js'}}\n")

    def start(*command, **options):
        processes.append(subprocess.Popen(list(map(str, command)), env=environment, stdin=subprocess.DEVNULL, **options))
        return processes[-1]

    try:
        start("nats-server", "-c", folder / "server.conf", stderr=open(folder / "server.log", "w"))
        start(BIN / "otolith", "run", SOURCE / "configs/worlds/city_drive.yaml", "--quiet", "--summary", folder / "summary.json",
              stderr=open(folder / "world.log", "w"))
        time.sleep(2)
        bridge = start(BIN / "otolith-nats", "--world", "demo", "--server", f"nats://127.0.0.1:{PORT}", stderr=open(folder / "bridge.log", "w"))
        time.sleep(1)
        stopped = start(sys.executable, __file__, BIN, SOURCE, "stopped", stdout=subprocess.PIPE)
        stopped.stdout.readline()
        selector, counters = selectors.DefaultSelector(), []
        for index in range(SUBSCRIBERS - 1):
            client, counter = Nats(PORT, name=f"subscriber{index}"), Counter()
            client.subscribe("otolith.demo.car.imu.main")
            for _, payload in client.messages:
                counter.take(payload)
            client.socket.setblocking(False)
            selector.register(client.socket, selectors.EVENT_READ, (client, counter))
            counters.append(counter)
        begun = time.monotonic()
        is_stopped = False
        while time.monotonic() < begun + SECONDS:
            if not is_stopped and time.monotonic() > begun + SECONDS / 8:
                stopped.send_signal(signal.SIGSTOP)
                is_stopped = True
            for key, _ in selector.select(0.2):
                take_all(*key.data)
        usage = {name: open(f"/proc/{process.pid}/stat").read().split() for name, process in (("server", processes[0]), ("bridge", bridge))}
        cpu = {name: (int(stat[13]) + int(stat[14])) / os.sysconf("SC_CLK_TCK") for name, stat in usage.items()}
        bridge.terminate()
        bridge.wait(timeout=20)
        processes[1].send_signal(signal.SIGINT)
        processes[1].wait(timeout=20)
    finally:
        for process in reversed(processes):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
                process.wait(timeout=20)
    print(f"{len(counters)} subscribers that read, {SECONDS} s: {sum(c.frames for c in counters)} frames, {sum(c.records for c in counters)} records, "
          f"{sum(c.gaps for c in counters)} gaps, {sum(c.missing for c in counters)} records missing")
    print("each:", sorted({c.records for c in counters})[:3], "…", max(c.records for c in counters))
    print("CPU s:", json.dumps(cpu))
    print((folder / "bridge.log").read_text().strip())
    print("\n".join(line for line in (folder / "server.log").read_text().splitlines() if "low" in line) or "the server cut nobody")
    print((folder / "summary.json").read_text())
    shutil.rmtree(folder)


if __name__ == "__main__":
    if len(sys.argv) > 3 and sys.argv[3] == "stopped":
        subscribe_only()
    main()
