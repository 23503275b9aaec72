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
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Of anonymous pages: arenas of malloc and stacks. Rings are shared memory that fills for minutes. A leak of 10 KiB a swap is more in 5 minutes.
RESIDENT_GROWTH_KIB = 6 * 1024
PROGRESS_S = 600  # between two lines that tell how far it is
SWAPPED_FILES = 10  # the plugin and the previous plugin of five nodes, each with a descriptor and about six mappings


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
    parser.add_argument("--quiet", action="store_true", help="print no line for each action")
    return parser.parse_args()


OPTIONS = arguments()
os.environ["OTOLITH_LIBRARY"] = os.path.join(OPTIONS.build, "lib", "libotolith.so")
sys.path[:0] = [HERE, os.path.join(ROOT, "tests", "support"), os.path.join(ROOT, "clients", "python")]
sys.dont_write_bytecode = True

import otolith  # noqa: E402
import actions  # noqa: E402
from processes import DEADLINE_S, Server, Violation, end, strangers, wait_for  # noqa: E402


class Soak:
    """One world, and what is done to it."""

    def __init__(self, runtime, world_file, seed, own_clients, *options):
        """own_clients: what stays connected, the publisher and this program among them."""
        self.own_clients = own_clients
        self.logged = "--log" in options
        self.runtime, self.file = runtime, os.path.join(HERE, world_file)
        self.random = random.Random(seed)
        self.server = Server(os.path.join(OPTIONS.build, "bin"), runtime, self.file, options)
        self.checkpoint_path = os.path.join(runtime, self.server.world + ".ckpt")
        self.stopped, self.silent, self.files, self.copies = [], [], 0, 0
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

    def plugin_file(self, plugin):
        return next(pathlib.Path(OPTIONS.build, "lib", "otolith").glob(f"plugins-*/{plugin}.so"))

    def own_file(self, name, data):
        """A file of these bytes. A replay loads a file that was swapped in once more: a logged world keeps all of them."""
        self.files += 1
        folder = os.path.join(self.runtime, f"{self.server.world}-files", str(self.files) if self.logged else "")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        with open(path + ".new", "wb") as file:
            file.write(data)
        os.rename(path + ".new", path)
        return path

    def rebuilt_plugin(self):
        """The plugin as somebody would have built it anew: another file, other bytes, the same code."""
        self.copies += 1
        return self.own_file("mems_imu.so", self.plugin_file("mems_imu").read_bytes() + b"\0" * (self.copies % 100))

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
            raise self.no_answer(name, broken) from broken
        except otolith.OtolithError as refusal:
            self.refused[f"{name}: {re.sub(r'[0-9]+', 'N', str(refusal))[:150]}"] += 1

    def asked(self):
        """How many actions were tried."""
        return sum(self.done.values()) - self.done["swap_damaged, refused"] + sum(self.refused.values())

    def no_answer(self, name, error):
        return Violation(f"{name}: {error}; the server is {'alive' if self.server.alive() else 'dead'}:\n"
                         f"{self.server.log_text()[-2000:]}")

    def check(self):
        """What must hold after every action: it ticks, it answers, nobody is left unburied."""
        try:
            self.check_life()
        except otolith.OtolithError as error:
            raise self.no_answer("check", error) from error

    def check_life(self):
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

    def let_go(self):
        for client in self.stopped:
            end(client)
        for connection in self.silent:
            connection.close()
        self.stopped.clear()
        self.silent.clear()

    def calm(self):
        """Ends what was begun, so that figures can be compared; returns them."""
        self.let_go()
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
        self.let_go()
        self.world.close()
        code = self.server.stop()
        if code != 0:
            raise Violation(f"the server of '{self.server.world}' ended with {code}:\n{self.server.log_text()[-2000:]}")
        if os.path.exists(os.path.join(self.runtime, "otolith", self.server.world)):
            raise Violation(f"the runtime directory of '{self.server.world}' was left behind")


def warm_up(soak, wanted):
    """Every action once; all of them again where one was refused, which may need what another does or, on a busy machine, another moment."""
    never, deadline = wanted, time.monotonic() + DEADLINE_S
    while never:
        for action in wanted:
            soak.act(action)
            soak.check()
        never = [action.__name__ for action in wanted if soak.done[action.__name__] == 0]
        if never and time.monotonic() > deadline:
            raise Violation(f"'{soak.server.world}' refused always: {', '.join(never)}: {dict(soak.refused)}")


def compare_flat(world, before, after):
    """Descriptors, threads and mappings as before; memory not much more."""
    room = {"rss_kib": RESIDENT_GROWTH_KIB, "descriptors": SWAPPED_FILES, "mappings": 6 * SWAPPED_FILES, "threads": 0}
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


def check_replay(soak):
    """Each run of the logged world, replayed from its log; returns how many there were."""
    logs = sorted(pathlib.Path(soak.runtime).glob("logged.runlog*"), key=lambda path: path.stat().st_mtime)
    logs = [log for log in logs if log.suffix != ".ckpt"]
    for log in logs:
        done = subprocess.run([os.path.join(OPTIONS.build, "bin", "otolith"), "run", "--replay", log, "--mode", "asap",
                               "--no-publish", "--quiet"], capture_output=True, text=True, timeout=3600, check=False)
        if done.returncode != 0 or "the same as logged" not in done.stderr:
            raise Violation(f"the replay of {log.name} ended with {done.returncode}: {done.stderr}")
    return len(logs)


def start_reader(program, *arguments):
    return subprocess.Popen([sys.executable, "-B", os.path.join(HERE, program), *arguments],
                            env=dict(os.environ, PYTHONPATH=os.path.join(ROOT, "clients", "python")),
                            stdout=subprocess.PIPE, text=True)


def finish_reader(reader, what):
    reader.terminate()
    account = json.loads(reader.communicate(timeout=120)[0])
    if account["violations"]:
        raise Violation(f"{what}: " + "; ".join(account["violations"]))
    if account["samples"] == 0:
        raise Violation(f"{what} got nothing")
    return account


def tell_progress(worlds, seconds):
    memory = ", ".join(f"{soak.server.world} {soak.server.figures()['rss_kib']}" for soak, _ in worlds)
    print(f"{time.strftime('%H:%M:%S')} soak: {seconds / 60:.0f} min, {sum(soak.asked() for soak, _ in worlds)} actions; "
          f"anonymous memory in KiB: {memory}", flush=True)


def treat(worlds, seconds):
    """
    Every action, to warm up; then at random until the time is over, or SIGTERM asks for the end. Returns how long that was, and the
    figures of both calms.
    """
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
    choice = random.Random(OPTIONS.seed)
    for soak, own in worlds:
        warm_up(soak, own + actions.OUTSIDE)
    before = {soak: soak.calm() for soak, _ in worlds}
    chances = [(soak, group) for soak, own in worlds for group in (own, own, actions.OUTSIDE) if group]
    begin = told = time.monotonic()
    while time.monotonic() < begin + seconds and not asked:
        soak, group = choice.choice(chances)
        soak.act(choice.choice(group))
        soak.check()
        if time.monotonic() > told + PROGRESS_S:
            told = time.monotonic()
            tell_progress(worlds, told - begin)
    return time.monotonic() - begin, before, {soak: soak.calm() for soak, _ in worlds}


def row(soaks, lasted_s, grown_kib, accounts, ticks, replayed):
    """The run as a row of the table in README.md."""
    done, refused = (sum((getattr(soak, name) for soak in soaks), collections.Counter()) for name in ("done", "refused"))
    cells = (time.strftime("%Y-%m-%d"), f"{lasted_s / 60:.0f} min", OPTIONS.seed, sum(soak.asked() for soak in soaks), sum(refused.values()),
             f"{done['kill_server']}, {done['kill_host']}, {done['kill_publisher']}", done["restore"],
             f"{done['swap_damaged']} ({done['swap_damaged, refused']})", done["hostile_subscribers"],
             ", ".join(str(account["samples"]) for account in accounts.values()),
             ", ".join(str(account["lost"]) for account in accounts.values()), ticks, replayed,
             ", ".join(f"{kib / 1024:.1f}" for kib in grown_kib))
    return "| " + " | ".join(map(str, cells)) + " |"


def report(soaks, lasted_s, before, after, accounts, ticks, replayed):
    for soak in soaks:
        print(f"{soak.server.world}: {sum(soak.done.values())} actions done, {sum(soak.refused.values())} refused")
        print("  figures " + ", ".join(f"{key} {before[soak][key]} -> {after[soak][key]}" for key in before[soak]))
        print("  " + ", ".join(f"{name} {count}" for name, count in sorted(soak.done.items())))
        for sentence, count in sorted(soak.refused.items()):
            print(f"  refused {count}: {sentence}")
    for what, account in accounts.items():
        print(f"{what}: {account['samples']} samples, {account['epochs']} runs, {account['lost']} reported as lost, none missing")
    print(f"hash: as undisturbed after {ticks} ticks")
    print(f"replay: {replayed} runs of the logged world, each the same as logged")
    print(f"checked after each of {sum(soak.asked() for soak in soaks)} actions: the server lives, "
          "ticks and answers, its events make sense, no zombie is left, a refusal has a sentence")
    print("checked at the end: the figures, the samples, the hash and the replays above, exit codes, runtime directories, processes left behind")
    grown_kib = [after[soak]["rss_kib"] - before[soak]["rss_kib"] for soak in soaks]
    print(row(soaks, lasted_s, grown_kib, accounts, ticks, replayed))


def check_end(worlds, readers, lasted_s, before, after):
    """What can be said only at the end; prints the report."""
    soaks = [soak for soak, _ in worlds]
    watched, logged = soaks[1:]
    ticks = check_hash(watched)
    accounts = {what: finish_reader(reader, what) for what, reader in readers.items()}
    for soak in soaks:
        compare_flat(soak.server.world, before[soak], after[soak])
        soak.stop()
    wait_for(lambda: not strangers(OPTIONS.runtime), "processes are left behind")
    report(soaks, lasted_s, before, after, accounts, ticks, check_replay(logged))


def run(runtime):
    soaks, readers = [], {}
    try:
        soaks.append(Soak(runtime, "soak.yaml", OPTIONS.seed, 3, "--supervise"))
        soaks.append(Soak(runtime, "watched.yaml", OPTIONS.seed + 1, 2))
        soaks.append(Soak(runtime, "logged.yaml", OPTIONS.seed + 2, 2, "--log", os.path.join(runtime, "logged.runlog")))
        readers["reader"] = start_reader("reader.py", "soak", "car/imu", "5000000")
        readers["subscriber"] = start_reader("subscriber.py", f"ipc://{runtime}/otolith/watched/pub.ipc", "watched/car/imu",
                                             "5000000")
        worlds = list(zip(soaks, (actions.DISTURBING, [], actions.RECORDED)))
        check_end(worlds, readers, *treat(worlds, OPTIONS.seconds))
    finally:
        for reader in readers.values():
            end(reader)
        for soak in soaks:
            soak.let_go()
            soak.server.kill()


def main():
    OPTIONS.seed = OPTIONS.seed if OPTIONS.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"soak: {OPTIONS.seconds:g} s, --seed {OPTIONS.seed}", flush=True)
    OPTIONS.runtime = runtime = tempfile.mkdtemp(prefix="otolith-soak-")
    os.environ["XDG_RUNTIME_DIR"] = runtime
    try:
        run(runtime)
    except Violation as violation:
        print(f"soak: FAILED with --seed {OPTIONS.seed}: {violation}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(runtime, ignore_errors=True)
    print(f"soak: passed, --seed {OPTIONS.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
