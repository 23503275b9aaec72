#!/usr/bin/python3
"""Runs a world under random treatment for a while and checks what must hold all the time; README.md says what."""
import argparse
import collections
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RESIDENT_GROWTH_KIB = 6 * 1024  # arenas of malloc and pages touched late; a leak of 10 KiB a swap is more in 5 minutes


def duration(text):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|min|h)", text)
    if not match:
        raise argparse.ArgumentTypeError(f"'{text}' is no duration: 90s, 5min or 8h is expected")
    return float(match[1]) * {"s": 1, "min": 60, "h": 3600}[match[2]]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="seconds", type=duration, default=300, help="how long: 90s, 5min, 8h (default 5min)")
    parser.add_argument("--seed", type=int, default=None, help="of the sequence of actions (default: a new one, printed)")
    parser.add_argument("--build", default=os.path.join(ROOT, "build", "release"), help="the build to run")
    parser.add_argument("--quiet", action="store_true", help="print the summary alone")
    return parser.parse_args()


OPTIONS = arguments()
os.environ["OTOLITH_LIBRARY"] = os.path.join(OPTIONS.build, "lib", "libotolith.so")
sys.path[:0] = [HERE, os.path.join(ROOT, "clients", "python")]

import otolith  # noqa: E402
import actions  # noqa: E402
from processes import Server, Violation, end, strangers, wait_for  # noqa: E402


class Soak:
    """One world, and what is done to it."""

    def __init__(self, runtime, world_file, seed, own_clients, *options):
        """own_clients: what stays connected, the publisher and this program among them."""
        self.own_clients = own_clients
        self.runtime, self.file = runtime, os.path.join(HERE, world_file)
        self.random = random.Random(seed)
        self.server = Server(os.path.join(OPTIONS.build, "bin"), runtime, self.file, options)
        self.checkpoint_path = os.path.join(runtime, self.server.world + ".ckpt")
        self.stopped, self.copies = [], 0
        self.done, self.refused = collections.Counter(), collections.Counter()
        self.world, self.events = None, None
        self.killed_at = -1000.0
        self.reopen()

    # ---- the world ----

    def reopen(self):
        """Attaches, and reattaches after a restart of the world."""
        def attach():
            if not self.server.alive():
                raise Violation(f"the server has ended with {self.server.process.poll()}:\n{self.server.log_text()[-2000:]}")
            try:
                if self.world is None:
                    self.world = otolith.World(self.server.world, name="soak", timeout_s=60)
                    self.events = self.world["@events"].reader(from_oldest=True)
                else:
                    self.world.reattach(1.0)
                return self.world.info()
            except otolith.OtolithError:
                return None
        self.server.pid = wait_for(attach, f"world '{self.server.world}' cannot be attached")["pid"]

    def take_checkpoint(self):
        self.world.checkpoint(self.checkpoint_path)

    def rebuilt_plugin(self):
        """The plugin as somebody would have built it anew: another file, other bytes, the same code."""
        self.copies += 1
        path = os.path.join(self.runtime, "mems_imu.so")
        shutil.copy(next(pathlib.Path(OPTIONS.build, "lib", "otolith").glob("plugins-*/mems_imu.so")), path + ".new")
        with open(path + ".new", "ab") as file:
            file.write(b"\0" * self.copies)
        os.rename(path + ".new", path)
        return path

    def must_or_refuse(self, *command):
        code, _, text = self.server.cli(*command)
        if code != 0:
            if code < 0 or not text.startswith("otolith: "):
                raise Violation(f"otolith {' '.join(command)} ended with {code}: {text}")
            raise otolith.OtolithError(text.strip(), None)

    # ---- doing and checking ----

    def act(self, action):
        name = action.__name__
        if not OPTIONS.quiet:
            print(f"{time.strftime('%H:%M:%S')} {self.server.world}: {name}", flush=True)
        try:
            action(self)
            self.done[name] += 1
        except (otolith.Closed, otolith.Timeout) as broken:
            raise Violation(f"{name}: {broken}; the server is {'alive' if self.server.alive() else 'dead'}:\n"
                            f"{self.server.log_text()[-2000:]}") from broken
        except otolith.OtolithError as refusal:
            self.refused[f"{name}: {re.sub(r'[0-9]+', 'N', str(refusal))[:150]}"] += 1

    def check(self):
        """What must hold after every action: it ticks, it answers, nobody is left unburied."""
        if not self.server.alive():
            raise Violation(f"the server has ended with {self.server.process.poll()}:\n{self.server.log_text()[-2000:]}")
        tick = self.world.clock()
        tick = tick.tick if tick is not None else 0
        def goes_on():
            clock = self.world.clock()
            return clock is not None and clock.tick > tick
        wait_for(goes_on, f"no tick after {tick}: {self.world.info()}")
        wait_for(lambda: not self.server.zombies(), "zombies of the server are not buried")
        for event in self.events.read():
            if not 1 <= event["kind"] <= 21 or not event["text"]:
                raise Violation(f"an event that makes no sense: {event}")

    def calm(self):
        """Ends what was begun, so that figures can be compared; returns them."""
        for client in self.stopped:
            end(client)
        self.stopped.clear()
        for node in ("car/mag", "car/odo"):
            try:
                self.world.clear_faults(node)
            except otolith.OtolithError:
                pass
        self.check()
        wait_for(lambda: self.world.info()["clients"] <= self.own_clients,
                 f"clients that left are still counted: {self.world.info()}")
        lowest = None
        for _ in range(10):  # candidates of swaps and dead hosts are let go a little later
            figures = self.server.figures()
            lowest = figures if lowest is None else {key: min(lowest[key], figures[key]) for key in figures}
            time.sleep(0.2)
        return lowest

    def stop(self):
        for client in self.stopped:
            end(client)
        self.world.close()
        code = self.server.stop()
        if code != 0:
            raise Violation(f"the server of '{self.server.world}' ended with {code}:\n{self.server.log_text()[-2000:]}")
        if os.path.exists(os.path.join(self.runtime, "otolith", self.server.world)):
            raise Violation(f"the runtime directory of '{self.server.world}' was left behind")


def check_done(soak, wanted):
    never = [action.__name__ for action in wanted if soak.done[action.__name__] == 0]
    if never:
        raise Violation(f"'{soak.server.world}' refused always: {', '.join(never)}: {dict(soak.refused)}")


def compare_flat(world, before, after):
    """Descriptors, threads and mappings as before; memory not much more."""
    room = {"rss_kib": RESIDENT_GROWTH_KIB, "descriptors": 4, "mappings": 24, "threads": 0}
    grown = [f"{key} {before[key]} -> {after[key]}" for key in room if after[key] > before[key] + room[key]]
    if grown:
        raise Violation(f"'{world}' grows: {', '.join(grown)}")


def undisturbed_hash(runtime, ticks):
    """The state hash of the watched world after so many ticks when nobody touches it."""
    summary = os.path.join(runtime, "undisturbed.json")
    subprocess.run([os.path.join(OPTIONS.build, "bin", "otolith"), "run", os.path.join(HERE, "watched.yaml"), "--mode", "asap",
                    "--set", "world=undisturbed", "--for", f"{ticks}ms", "--no-publish", "--quiet", "--summary", summary],
                   env=dict(os.environ, XDG_RUNTIME_DIR=runtime), check=True, stdout=subprocess.DEVNULL, timeout=3600)
    with open(summary, encoding="utf-8") as file:
        return int(json.load(file)["state_hash"], 16)


def check_hash(soak):
    soak.world.pause()
    clock = soak.world.clock()
    expected = undisturbed_hash(soak.runtime, clock.tick)
    if clock.state_hash != expected:
        raise Violation(f"after {clock.tick} ticks the watched world has the state hash {clock.state_hash:#x}, a run that "
                        f"nobody touched {expected:#x}")
    return clock.tick


def start_reader(world, channel, period_ns):
    return subprocess.Popen([sys.executable, os.path.join(HERE, "reader.py"), world, channel, str(period_ns)],
                            env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "clients", "python")),
                            stdout=subprocess.PIPE, text=True)


def finish_reader(reader):
    reader.terminate()
    account = json.loads(reader.communicate(timeout=120)[0])
    if account["violations"]:
        raise Violation("the reader that never sleeps: " + "; ".join(account["violations"]))
    if account["samples"] == 0:
        raise Violation("the reader that never sleeps got nothing")
    return account


def treat(shaken, watched, seconds):
    """Every action once, to warm up; then at random until the time is over. Returns the figures of both calms."""
    choice = random.Random(OPTIONS.seed)
    for action in actions.DISTURBING + actions.OUTSIDE:
        shaken.act(action)
        shaken.check()
    for action in actions.OUTSIDE:
        watched.act(action)
        watched.check()
    before = {soak: soak.calm() for soak in (shaken, watched)}
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        soak, action = choice.choice([(shaken, actions.DISTURBING), (shaken, actions.OUTSIDE), (shaken, actions.DISTURBING),
                                      (watched, actions.OUTSIDE)])
        soak.act(choice.choice(action))
        soak.check()
    return before, {soak: soak.calm() for soak in (shaken, watched)}


def report(soaks, before, after, account, ticks):
    for soak in soaks:
        print(f"{soak.server.world}: {sum(soak.done.values())} actions done, {sum(soak.refused.values())} refused")
        print("  figures " + ", ".join(f"{key} {before[soak][key]} -> {after[soak][key]}" for key in before[soak]))
        print("  " + ", ".join(f"{name} {count}" for name, count in sorted(soak.done.items())))
        for sentence, count in sorted(soak.refused.items()):
            print(f"  refused {count}: {sentence}")
    print(f"reader: {account['samples']} samples, attached {account['epochs']} times, {account['lost']} told as lost, none missing")
    print(f"hash: as undisturbed after {ticks} ticks")


def run(runtime):
    shaken = watched = reader = None
    try:
        shaken = Soak(runtime, "soak.yaml", OPTIONS.seed, 3, "--supervise")
        watched = Soak(runtime, "watched.yaml", OPTIONS.seed + 1, 2)
        reader = start_reader("soak", "car/imu", 5_000_000)
        before, after = treat(shaken, watched, OPTIONS.seconds)
        check_done(shaken, actions.DISTURBING + actions.OUTSIDE)
        check_done(watched, actions.OUTSIDE)
        ticks = check_hash(watched)
        account = finish_reader(reader)
        for soak in (shaken, watched):
            compare_flat(soak.server.world, before[soak], after[soak])
            soak.stop()
        wait_for(lambda: not strangers(runtime), "processes are left behind")
        report((shaken, watched), before, after, account, ticks)
    finally:
        if reader is not None:
            end(reader)
        for soak in filter(None, (shaken, watched)):
            for client in soak.stopped:
                end(client)
            soak.server.kill()


def main():
    OPTIONS.seed = OPTIONS.seed if OPTIONS.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"soak: {OPTIONS.seconds:g} s, --seed {OPTIONS.seed}", flush=True)
    runtime = tempfile.mkdtemp(prefix="otolith-soak-")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    try:
        run(runtime)
    except Violation as violation:
        print(f"soak: FAILED with --seed {OPTIONS.seed}: {violation}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(runtime, ignore_errors=True)
    print("soak: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
