"""What the tests of failing calls share: worlds, what an end in order is, and the faults of libraries that are known."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

PRELOAD, BUILD, SOURCE = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(3))
BIN = BUILD / "bin"
os.environ["OTOLITH_LIBRARY"] = str(BUILD / "lib" / "libotolith.so")
sys.path.insert(0, str(SOURCE / "clients" / "python"))
import otolith  # noqa: E402
from injector import Injector, explain, spread  # noqa: E402

# Of each thing that is done: how many places fail, spread over all; 0: every one, its first call and its last.
PLACES = os.environ.get("OTOLITH_FAULT_PLACES")
DEADLINE_S = 300  # ends what hangs; on a busy machine a start may take more than a minute

WORLD = """
world: w
seed: 7
clock: {rate_hz: 1000}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 200, isolation: {process: lab, budget_us: 5000}}
      - {name: mag, plugin: magnetometer, rate_hz: 50, watch: true}
publish: {listen: [ipc], coalesce_ms: 5}
"""

# Libraries that end or hang a process by themselves when a call fails, and who of us calls them there: README.md tells
# which of their functions it is. A crash anywhere else is ours.
KNOWN = {
    "libfyaml": {"doc_parse_events"},
    "libuv": {"srv_waiter_open", "start_polling", "srv_waiter_wait", "srv_server_run", "srv_resources_start_worker", "start",
              "watch", "begin"},
    # With optimisation the first three are part of the functions in the second line, whose names a stack then has.
    "libnng": {"open_socket", "start_listener", "srv_pub_send",
               "srv_pub_open", "try_listener", "sink", ""},
}
PLUMBING = ("libotolith-inject", "libc.", "ld-linux", "libgcc")


def known_fault(stack):
    """Whether the innermost frame that is no plumbing is a library's, and the first of ours below it a known caller."""
    frames = [line.strip() for line in stack.splitlines()[1:]]
    frames = [frame for frame in frames if not frame.startswith(PLUMBING)]
    library = frames[0].split(".so")[0] if frames and ".so" in frames[0] else None
    if library not in KNOWN:
        return False
    ours = [frame for frame in explain("\n" + "\n".join(frames), BIN).splitlines() if ".so" not in frame and frame.strip()]
    return (ours[0].split()[0] if ours else "") in KNOWN[library]


def until(condition, limit_s=DEADLINE_S):
    """The first true value, or the last false one at the deadline."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value or time.monotonic() > end:
            return value
        time.sleep(0.002)


class World:
    """A directory, and one server at a time in which a call can fail."""

    def __init__(self, text=WORLD, depth=12):
        self.directory = tempfile.TemporaryDirectory(prefix="otolith-failing-")
        self.path = pathlib.Path(self.directory.name)
        self.file = self.path / "world.yaml"
        self.file.write_text(text)
        self.injector = Injector(PRELOAD, depth)
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(self.path), **self.injector.environment,
                                OTOLITH_PLUGIN_PATH=str(next((BUILD / "lib" / "otolith").glob("plugins-*"))))
        self.environment.pop("OTOLITH_WORLD", None)
        os.environ["XDG_RUNTIME_DIR"] = str(self.path)
        self.server = self.client = None
        (self.path / "said").touch()

    def spawn(self, *arguments, program="otolithd"):
        with open(self.path / "said", "w", encoding="utf-8") as said:
            self.server = subprocess.Popen([BIN / program, self.file, *arguments], stdout=said, stderr=said,
                                           env=self.environment)

    def said(self):
        """The sentences of stderr, without the one about the mode of the clock."""
        return [line for line in (self.path / "said").read_text(encoding="utf-8", errors="replace").splitlines()
                if " runs (pid" not in line]

    def runs(self):
        return " runs (pid" in (self.path / "said").read_text(encoding="utf-8", errors="replace")

    def attach(self):
        def attempt():
            try:
                return otolith.World("w", name="test", timeout_s=DEADLINE_S)
            except otolith.OtolithError:
                return None
        assert until(lambda: self.server.poll() is not None or self.attached(attempt())), "the server does not answer"
        return self.client

    def attached(self, client):
        self.client = client or self.client
        return self.client

    def leave(self):
        if self.client is not None:
            self.client.close()
            self.client = None

    def is_gone(self):
        if self.injector.crashed:
            self.wait()
        return self.server.poll() is not None

    def is_well(self):
        """The server replies and its clock runs."""
        if self.server.poll() is not None:
            return False
        try:
            tick = self.client.clock().tick
            self.client.info()
        except otolith.OtolithError:
            return False
        return until(lambda: self.server.poll() is not None or self.client.clock().tick > tick + 2) and \
            self.server.poll() is None

    def descriptors(self):
        """What the server has open, by kind and without the numbers that differ."""
        folder, found = f"/proc/{self.server.pid}/fd", []
        for fd in os.listdir(folder):
            try:
                found.append(re.sub(r"\d+", "N", os.readlink(f"{folder}/{fd}")))
            except OSError:
                pass
        return sorted(found)

    def wait(self):
        """The exit code; "hangs" beyond the deadline."""
        try:
            return self.server.wait(timeout=DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
            return "hangs"

    def stop(self):
        self.leave()
        if self.server is not None and self.server.poll() is None:
            self.server.terminate()
        return self.wait() if self.server is not None else 0

    def is_left(self):
        return (self.path / "otolith").exists()

    def clean(self):
        subprocess.run(["rm", "-rf", self.path / "otolith"], check=True)

    def close(self):
        self.injector.off()
        self.stop()
        self.directory.cleanup()


def judge_end(world, code, left_is_fine=False):
    """The defect at the end of a program in which one call failed; None: no defect."""
    crash = world.injector.crash_text
    if crash and known_fault(crash):
        return None
    if crash or code not in (0, 1, 2):
        return f"it ended with {code}, {explain(crash, BIN)}"
    if code != 0 and not any(line.strip() for line in world.said()):
        return f"it ended with {code} and said nothing"
    return "it left its runtime directory" if world.is_left() and not left_is_fine else None


def every(world, recorded, count):
    """Arms the places one after the other."""
    places = world.injector.places(last=PLACES == "0")
    assert places, f"no call of {recorded} was recorded"
    for place in spread(places, count if PLACES is None else int(PLACES)):
        world.injector.arm(recorded, place)
        yield place


def complain(world, place, what):
    call, variant, skip = place[3], place[1], place[2]
    return (f"{call} failed (error {variant}, after {skip} calls that did not): {what}\n"
            f"at {explain(world.injector.fired_text, BIN)}\nsaid: {json.dumps(world.said())}")
