"""A world with a quadrotor, a bridge beside it, and their ends: what the tests of otolith-ardupilot and otolith-px4 share."""
import json
import signal
import subprocess
import sys
import pathlib

BIN, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
sys.path.insert(0, str(SOURCE / "tests" / "support"))
from otolith_case import PATIENCE_S, OtolithCase, free_ports  # noqa: E402, F401

WORLD = """
world: test
seed: 3
origin: {latitude_deg: 47.397742, longitude_deg: 8.545594, altitude_m: 488, date: 2026-07-01}
clock: {rate_hz: 1000, mode: MODE, master: autopilot}
environment: {gravity: wgs84, magnetic_field: wmm2025, atmosphere: isa}
vehicles:
  - name: quad
    motion: {plugin: motion_multirotor, controls: autopilot}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: IMU_HZ}
      - {name: second, plugin: mems_imu, rate_hz: 250}
      - {name: mag, plugin: magnetometer, rate_hz: 100}
      - {name: baro, plugin: barometer, rate_hz: 50}
      - {name: gnss, plugin: gnss, rate_hz: 5}
publish: false
"""


class AutopilotCase(OtolithCase):
    program = str(BIN / "otolith")
    bridge_program = None
    imu_hz = 1000
    world_text = WORLD

    def setUp(self):
        super().setUp()
        self.processes = []
        self.addCleanup(self.stop)

    def stop(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
                process.wait(timeout=PATIENCE_S)

    def start(self, *command, log):
        with open(self.path / log, "ab") as out:
            process = subprocess.Popen(list(map(str, command)), env=self.environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def log(self, name):
        return (self.path / name).read_text(errors="replace")

    def start_world(self, *options, mode="external"):
        text = self.world_text.replace("MODE", mode).replace("IMU_HZ", str(self.imu_hz))
        (self.path / "world.yaml").write_text(text)
        self.world = self.start(self.program, "run", self.path / "world.yaml", "--quiet", "--summary", self.path / "summary.json", *options, log="world.log")
        self.until(lambda: self.call("ls", "--world", "test").returncode == 0 or self.world.poll() is not None, "the world")
        self.assertIsNone(self.world.poll(), self.log("world.log"))

    def start_bridge(self, *options, port=0):
        """The bridge, and the port on which it listens."""
        bridge = self.start(BIN / self.bridge_program, "--world", "test", "--listen", f"127.0.0.1:{port}", *options, log="bridge.log")
        listening = lambda: [line for line in self.log("bridge.log").splitlines() if "listening on" in line]  # noqa: E731
        self.starts = getattr(self, "starts", 0) + 1
        self.until(lambda: len(listening()) == self.starts or bridge.poll() is not None, "the bridge")
        self.assertIsNone(bridge.poll(), self.log("bridge.log"))
        return bridge, int(listening()[-1].split()[-1])

    def end(self, process, code=0):
        """Ends a program as SIGTERM does."""
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=PATIENCE_S), code, self.log("bridge.log") + self.log("world.log"))

    def end_world(self):
        """The summary of its run."""
        self.end(self.world, code=143)
        return json.loads(self.log("summary.json"))
