"""A world with a page: its server, its link, and clients of otolith.v1."""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import unittest
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from otolith_case import PATIENCE_S, OtolithCase, free_ports  # noqa: E402, F401
from websocket import WebSocket  # noqa: E402

MAGIC, PLACES = 0x3157544F, 0x5057544F
# 24 lines of the eight channels of eight.yaml in four charts, of 10 s.
EIGHT_CHARTS = [(1, 2, "linear_acceleration"), (3, 4, "linear_acceleration"), (5, 6, "angular_velocity"), (7, 8, "angular_velocity")]
EIGHT_QUERY = "?w=10" + "".join("&c=" + ";".join(f"eight/car/imu{i}~{base}.x~{base}.y~{base}.z" for i in (first, second)) for first, second, base in EIGHT_CHARTS)


class Viewer:
    """A connection of otolith.v1 that presented its tokens."""

    def __init__(self, link, control=False, **more):
        self.link = link
        self.socket = WebSocket("127.0.0.1", link.port, protocol="otolith.v1", **more)
        self.socket.send("\n".join(["hello", link.token, link.control if control else ""]))
        self.world = self.text("world")
        self.sent = 0
        self.batches = []  # of the last frame, not yet returned

    def next(self):
        """("text", object), ("places", [(east, north) of each vehicle]) or ("frame", [batches]), which it acknowledges."""
        data = self.socket.receive()
        if isinstance(data, str):
            return "text", json.loads(data)
        if struct.unpack_from("<I", data)[0] == PLACES:
            return "places", list(struct.iter_unpack("<ff", data[16:]))
        magic, count, time_s, self.sent, run = struct.unpack_from("<IIdII", data)
        assert magic == MAGIC
        batches, at = [], 24
        for _ in range(count):
            number, columns, samples, lost, flags, first = struct.unpack_from("<HHIIId", data, at)
            at += 24
            rows = [struct.unpack_from(f"<{samples}d", data, at + 8 * samples * i) for i in range(1 + columns)]
            at += 8 * samples * (1 + columns)
            batches.append({"id": number, "lost": lost, "flags": flags, "first": int(first), "t": rows[0], "columns": rows[1:]})
        assert at == len(data)
        self.socket.send(f"ack\n{self.sent}")
        return "frame", batches

    def text(self, op):
        while True:
            kind, message = self.next()
            if kind == "text" and message["op"] == op:
                return message

    def channels(self):
        """All channels of the world, whose description may have parts."""
        channels, more = list(self.world["channels"]), self.world["more"]
        while more:
            part = self.text("channels")
            channels += part["channels"]
            more = part["more"]
        return channels

    def subscribe(self, number, topic, *columns):
        self.socket.send("\n".join(["subscribe", str(number), topic, *columns]))

    def batch(self):
        while not self.batches:
            kind, batches = self.next()
            if kind == "frame":
                self.batches = batches
        return self.batches.pop(0)

    def ask(self, verb, *arguments):
        self.socket.send("\n".join(["do", "7", verb, *map(str, arguments)]))
        return self.text("reply")

    def close(self):
        self.socket.close()


class Link:
    def __init__(self, text):
        parts = urllib.parse.urlsplit(text)
        fragment = urllib.parse.parse_qs(parts.fragment)
        self.text = text
        self.port = parts.port
        self.token = fragment.get("token", [""])[0]
        self.control = fragment.get("control", [""])[0]

    def page(self, query="", control=False):
        fragment = f"token={self.token}" + (f"&control={self.control}" if control else "")
        return f"http://127.0.0.1:{self.port}/{query}#{fragment}"


class WebCase(OtolithCase):
    binaries = None  # folder of the programs
    source = None    # the checkout

    @property
    def city(self):
        return self.source / "configs/worlds/city_drive.yaml"

    def fleet(self, count):
        """A world file of so many cars on a line, 5 m apart, each with an IMU."""
        file = self.path / "fleet.yaml"
        file.write_text(f"""world: fleet
clock: {{rate_hz: 100}}
publish: false
vehicles:
  - name: car
    count: {count}
    motion: {{plugin: motion_script}}
    nodes: [{{name: imu, plugin: mems_imu, rate_hz: 100}}]
    spread: {{motion.params.position_enu_m: [{{step: 5}}, 0, 0]}}
""")
        return file

    def start(self, world=None, *arguments, port=0, folder=None):
        """Starts a server, and returns the link of its page with both tokens. Where the page starts again at its port, `port` is of free_ports."""
        self.log = open(self.path / "server.log", "a", encoding="utf-8")
        program = (folder or self.binaries) / "otolithd"
        self.server = subprocess.Popen([program, world or self.city, "--set", f'web={{listen: "127.0.0.1:{port}"}}', *arguments],
                                       env=self.environment, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL, cwd=self.path)
        self.log.close()
        self.until(lambda: self.call("ls").returncode == 0, "the world")
        return self.link()

    def link(self):
        return Link(self.otolith("web", "--control").strip())

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        self.server.wait(timeout=PATIENCE_S)
        self.server = None

    def children(self, name):
        out = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(self.server.pid)], capture_output=True, text=True, check=False).stdout
        return [int(line.split()[0]) for line in out.splitlines() if line.split()[1].startswith(name[:15])]

    def resident_kib(self, pid):
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))

def main(case_module):
    """argv: folder of the programs, the checkout."""
    WebCase.binaries = pathlib.Path(sys.argv[1]).resolve()
    WebCase.source = pathlib.Path(sys.argv[2]).resolve()
    WebCase.program = str(WebCase.binaries / "otolith")
    if not os.access(WebCase.binaries / "otolith-web", os.X_OK):
        print("skipped: this build has no otolith-web")
        sys.exit(77)
    unittest.main(module=case_module, argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
