#!/usr/bin/python3
"""Measures otolith-ros2 at 1 kHz on this machine: from the start of a tick to the message in a Fast DDS reader, and its CPU time.

usage: measure.py BIN SOURCE PEER [SECONDS]
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

BIN, SOURCE, PEER = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
SECONDS = int(sys.argv[4]) if len(sys.argv) > 4 else 20
sys.path.insert(0, str(SOURCE / "clients" / "python"))
os.environ["OTOLITH_LIBRARY"] = str(BIN.parent / "lib" / "libotolith.so")

WORLD = """
world: measure
clock: {rate_hz: 1000, mode: realtime}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 1000}
      - {name: mag, plugin: magnetometer, rate_hz: 100}
"""
CONFIGURATION = """<CycloneDDS><Domain>
<General><Interfaces><NetworkInterface name="lo" multicast="false"/></Interfaces><AllowMulticast>false</AllowMulticast></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer Address="127.0.0.1"/></Peers></Discovery></Domain></CycloneDDS>
"""
DOMAIN = 99


def cpu_s(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rank(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def read(peer, messages):
    for line in peer.stdout:
        report = json.loads(line)
        if report.get("topic") == "rt/car/imu":
            messages.append((report["values"][0] * 1_000_000_000 + report["values"][1], report["at_ns"]))


def watch(world, starts, ends):
    """The start of each tick, as far as this reader sees it."""
    while not ends.is_set():
        clock = world.wait_tick(timeout_s=10)
        starts[clock.sim_time_ns] = clock.start_mono_ns


def run(folder, processes):
    """Messages, starts of ticks, CPU seconds of otolith-ros2, and lines of its status."""
    import otolith
    path = folder / "world.yaml"
    path.write_text(WORLD)
    environment = dict(os.environ, CYCLONEDDS_URI=CONFIGURATION)
    processes.append(subprocess.Popen([BIN / "otolith", "run", path, "--quiet"], env=environment))
    while subprocess.run([BIN / "otolith", "ls"], env=environment, capture_output=True).returncode != 0:
        time.sleep(0.1)
    bridge = subprocess.Popen([BIN / "otolith-ros2", "--domain", str(DOMAIN)], env=environment)
    peer = subprocess.Popen([PEER, str(DOMAIN)], env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    processes += [bridge, peer]
    messages, starts, ends = [], {}, threading.Event()
    threading.Thread(target=read, args=(peer, messages), daemon=True).start()
    peer.stdin.write("subscribe rt/car/imu sensor_msgs::msg::dds_::Imu_ iIs37d reliable\n")
    peer.stdin.flush()
    while not messages:
        time.sleep(0.1)
    watcher = threading.Thread(target=watch, args=(otolith.World("measure"), starts, ends), daemon=True)
    watcher.start()
    from_s, from_count = cpu_s(bridge.pid), len(messages)
    time.sleep(SECONDS)
    used_s, received = cpu_s(bridge.pid) - from_s, messages[from_count:]
    status = [line for line in pathlib.Path(f"/proc/{bridge.pid}/status").read_text().splitlines() if line.startswith(("VmRSS", "Threads"))]
    ends.set()
    watcher.join()
    return received, starts, used_s, status


def main():
    processes = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_RUNTIME_DIR"] = folder
        try:
            received, starts, used_s, memory = run(pathlib.Path(folder), processes)
        finally:
            for process in reversed(processes):
                process.terminate()
                process.wait()
    late_us = [(at - starts[t]) / 1000 for t, at in received if t in starts]
    gaps = sum(b[0] - a[0] != 1_000_000 for a, b in zip(received, received[1:]))
    print(f"{len(received)} messages in {SECONDS} s, {gaps} gaps; from the start of the tick {rank(late_us, 0.5):.0f} us (p50), {rank(late_us, 0.99):.0f} us (p99); "
          f"CPU {100 * used_s / SECONDS:.1f} % of one core; {', '.join(' '.join(line.split()) for line in memory)}; load {os.getloadavg()[0]:.0f}")


main()
