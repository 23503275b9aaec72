#!/usr/bin/python3
"""Every shipped plugin with one changed bit, swapped into a running world and given to a start. Half of the bits are anywhere in
the file, half in the part of it that is loaded.
damaged_plugins_bulk.py BIN [--flips 1000] [--starts 1000] [--seed 1] [--no-digest] [--plugin NAME ...]

After each swap the world runs on; a candidate that was accepted is undone within its probation. Then the hash chain must be
that of an undisturbed run. The exit code is 1 if a chain differs, if a refusal has no sentence, if a world does not answer, or if
the server ended. With --no-digest the files have no digest, as a plugin that somebody else's tools have built: then a bit in code or
constants can make another plugin that the probe accepts, and that ends the server later. These are counted apart, by design
(ARCHITECTURE.md, A15), and a bit outside code and data must not end it."""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "clients" / "python")]
sys.dont_write_bytecode = True

from damage import flipped  # noqa: E402

ON_CAR = "{plugin: motion_script}"
IMU = "{name: imu, plugin: mems_imu, rate_hz: 200}"
ODOMETER = "{name: odo, plugin: odometer, rate_hz: 100}"
SENSORS = ("mems_imu", "magnetometer", "odometer", "wheel_encoder", "gnss", "barometer", "sdf_imu", "template")
ESTIMATORS = {
    "ekf": "inputs: {odometer: odo, imu: imu, magnetometer: mag}, params_file: SOURCE/configs/estimators/car_ekf.yaml",
    "ins_ekf": "inputs: {imu: imu, odometer: odo, magnetometer: mag}, params_file: SOURCE/configs/estimators/car_ins.yaml",
    "mount_calibration": "inputs: {imu: imu, speed: odo}",
    "template_estimator": "inputs: {speed: odo}"}
MOTION_PARAMETERS = {
    "motion_replay": "{path: DIRECTORY/drive.csv}",
    "motion_fmu": "{path: DIRECTORY/damaged.so, truth.position_x_m: x}"}  # no archive: a start is refused with either sentence
HOST_ONLY = ("motion_fmu",)  # runs in a plugin host from the start of a world, so a running motion is not swapped to it
TICKS = 5        # after each swap, and after its undo
SENTENCE = re.compile(r"otolith: \S.*\S", re.S)


def world_of(plugin, path, directory):
    """A world in which only one node is of this plugin."""
    nodes = ""
    motion = ON_CAR
    if plugin in SENSORS:
        nodes = f"      - {{name: x, plugin: {path}, rate_hz: 200}}\n"
    elif plugin in ESTIMATORS:
        wired = ESTIMATORS[plugin].replace("SOURCE", str(ROOT))
        nodes = "".join(f"      - {line}\n" for line in (
            IMU, ODOMETER, "{name: mag, plugin: magnetometer, rate_hz: 50}", f"{{name: x, plugin: {path}, rate_hz: 100, {wired}}}"))
    else:
        parameters = MOTION_PARAMETERS.get(plugin, "{}").replace("DIRECTORY", str(directory))
        motion = f"{{plugin: {path}, params: {parameters}}}"
    return (f"world: bulk\nclock: {{rate_hz: 1000, mode: step}}\nvehicles:\n  - name: car\n    motion: {motion}\n"
            + (f"    nodes:\n{nodes}" if nodes else "") + "publish: false\n")


def code_and_data(path):
    """Offsets of sections whose bytes are run or read by the plugin's own code."""
    text = subprocess.run(["readelf", "-SlW", path], capture_output=True, text=True, check=True).stdout
    own = (".init", ".plt", ".plt.got", ".text", ".fini", ".rodata", ".eh_frame_hdr", ".eh_frame", ".data.rel.ro", ".data",
           ".init_array", ".fini_array", ".got", ".got.plt", ".rela.dyn", ".rela.plt")
    return [range(int(offset, 16), int(offset, 16) + int(size, 16))
            for name, offset, size in re.findall(r"\] (\.\S+)\s+PROGBITS\s+[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", text)
            + re.findall(r"\] (\.\S+)\s+(?:RELA|INIT_ARRAY|FINI_ARRAY)\s+[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", text) if name in own]


class Bulk:
    """One plugin: its world, an undisturbed run of it, and the flips."""

    def __init__(self, options, plugin, directory):
        self.options, self.plugin, self.directory = options, plugin, directory
        self.file = options.plugins / f"{plugin}.so"
        self.node = "car/x" if plugin in SENSORS or plugin in ESTIMATORS else "car/motion"
        self.own_bytes = code_and_data(self.file)
        self.loaded = max(part.stop for part in self.own_bytes)  # what follows are names for debuggers
        self.counts, self.failures, self.server, self.world = collections.Counter(), [], None, None
        self.environment = dict(os.environ, XDG_RUNTIME_DIR=str(directory), TMPDIR=str(directory))
        self.world_file = directory / "world.yaml"
        running = "motion_script" if plugin in HOST_ONLY else plugin
        self.world_file.write_text(world_of(running, running, directory))
        self.starting_file = directory / "starting.yaml"
        self.starting_file.write_text(world_of(plugin, directory / "damaged.so", directory))

    def call(self, *words):
        return subprocess.run([str(self.options.bin / "otolith"), *map(str, words)], env=self.environment, capture_output=True,
                              text=True, timeout=120, errors="replace")

    def undisturbed(self):
        """The chain after each few ticks of a run that nobody touches, by tick."""
        log = self.directory / "undisturbed.log"
        done = self.call("run", self.world_file, "--mode", "asap", "--quiet", "--for",
                         f"{(2 * self.options.flips + 2) * TICKS}ms", "--log", log, "--log-hashes", TICKS)
        if done.returncode != 0:
            raise SystemExit(f"{self.plugin}: an undisturbed run failed: {done.stderr}")
        entries = map(json.loads, log.read_text().splitlines())
        chains = {entry["tick"]: int(entry["chain"], 16) for entry in entries if entry["entry"] == "hashes"}
        log.unlink()
        return chains

    def start(self):
        import otolith
        self.server = subprocess.Popen([str(self.options.bin / "otolithd"), str(self.world_file)], env=self.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while self.world is None:
            try:
                self.world = otolith.World("bulk")
            except otolith.OtolithError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def end(self):
        if self.world is not None:
            self.world.close()
        if self.server is not None and self.server.poll() is None:
            self.server.terminate()
            self.server.wait(60)
        self.server = self.world = None

    def damage(self, chance):
        at, bit = chance.randrange(chance.choice((self.file.stat().st_size, self.loaded))), chance.randrange(8)
        (self.directory / "damaged.so").write_bytes(flipped(self.file, at, bit, digest=not self.options.no_digest))
        return at, f"{self.plugin}, byte {at:#x}, bit {bit}"

    def note(self, kind, at, sentence):
        """`kind` is by design where a file without a digest has another code or other data, and else a failure."""
        if self.options.no_digest and any(at in part for part in self.own_bytes):
            self.counts[kind + " by code"] += 1
        else:
            self.counts[kind] += 1
            self.failures.append(sentence)
        print(f"  {kind}: {sentence}", flush=True)

    def check_chain(self, accepted, at, what, chains):
        """The truth of a motion on probation, and the number of samples of a sensor, are part of the run: other code may differ."""
        self.world.step(TICKS)
        clock = self.world.clock()
        if chains.get(clock.tick) == clock.state_hash:
            return
        sentence = f"{what}: the chain differs at tick {clock.tick}"
        if accepted:
            self.note("another run on probation", at, sentence)
        else:
            self.failures.append(sentence)
            print(f"  DIFFERS after a refusal: {sentence}", flush=True)
        self.end()

    def swap(self, at, what):
        result = self.call("swap", self.node, self.directory / "damaged.so", "--world", "bulk")
        self.counts["swap accepted" if result.returncode == 0 else "swap refused"] += 1
        if result.returncode != 0 and not SENTENCE.match(result.stderr):
            self.failures.append(f"{what}: {result.returncode} {result.stderr!r}")
        if result.returncode == 0:
            self.world.step(TICKS)
            undone = self.call("swap", self.node, "--undo", "--world", "bulk")
            if undone.returncode != 0 and self.server.poll() is None:
                self.counts["rolled back by itself"] += 1
        elif self.server.poll() is None:
            self.world.step(TICKS)
        return result.returncode == 0

    def swap_one(self, chance, chains):
        import otolith
        at, what = self.damage(chance)
        if self.server is None:
            self.start()
        try:
            accepted = self.swap(at, what)
            self.check_chain(accepted, at, what, chains)
        except (otolith.OtolithError, subprocess.TimeoutExpired) as trouble:
            try:
                self.server.wait(timeout=1)  # one that ends breaks the connection first
            except subprocess.TimeoutExpired:
                pass
            self.note("server ended at a swap" if self.server.poll() is not None else "no answer at a swap", at,
                      f"{what}: {trouble}, exit {self.server.poll()}")
            if self.server.poll() is None:
                self.server.kill()
                self.server.wait()
            self.end()

    def start_one(self, chance):
        at, what = self.damage(chance)
        result = self.call("run", self.starting_file, "--mode", "asap", "--quiet", "--for", f"{TICKS}ms")
        if result.returncode == 0:
            self.counts["start accepted"] += 1
        elif result.returncode == 1 and "damaged.so" in result.stderr:
            self.counts["start refused"] += 1
        else:
            self.note("start ended otherwise", at, f"{what}: {result.returncode} {result.stderr[-600:]!r}")

    def run(self):
        chance, begun = random.Random(f"{self.options.seed} {self.plugin}"), time.monotonic()
        chains = self.undisturbed()
        for _ in range(self.options.flips):
            self.swap_one(chance, chains)
        self.end()
        for _ in range(self.options.starts):
            self.start_one(chance)
        print(f"{self.plugin}: {time.monotonic() - begun:.0f} s, {dict(self.counts)}, {len(self.failures)} failures", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--starts", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-digest", action="store_true")
    parser.add_argument("--plugin", action="append")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    options.starts = options.flips if options.starts is None else options.starts
    options.plugins = next((options.bin.parent / "lib" / "otolith").glob("plugins-*"))
    return options


def write_drive(directory):
    rows = "".join(f"{0.1 * i:.1f},{i},{i / 2},0\n" for i in range(400))
    (directory / "drive.csv").write_text("t_s,x,y,z\n" + rows)


def main():
    options = arguments()
    os.environ["OTOLITH_LIBRARY"] = str(options.bin.parent / "lib" / "libotolith.so")
    failures, counts = [], collections.Counter()
    for plugin in options.plugin or sorted(path.stem for path in options.plugins.glob("*.so")):
        with tempfile.TemporaryDirectory(prefix="otolith-bulk-") as directory:
            os.environ["XDG_RUNTIME_DIR"] = directory
            write_drive(pathlib.Path(directory))
            bulk = Bulk(options, plugin, pathlib.Path(directory))
            try:
                bulk.run()
            finally:
                bulk.end()
            failures += bulk.failures
            counts += bulk.counts
    print(f"all: {dict(counts)}, {len(failures)} failures")
    print("".join(f"FAILED {sentence}\n" for sentence in failures), end="")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
