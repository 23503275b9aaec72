#!/usr/bin/python3
"""Short runs with many concurrent parameter changes: each log must replay to the same bits. replays.py BUILD [--runs 400] [--seed N]"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "clients" / "python")]
sys.dont_write_bytecode = True
CLIENTS, SETS = 9, 8  # 72 changes
WORLD = """
world: replayed
seed: SEED
clock: {rate_hz: 1000, mode: MODE}
vehicles:
  - name: car
    motion: {plugin: motion_script}
    nodes:
      - {name: imu, plugin: mems_imu, rate_hz: 500, params: {accelerometer: {noise_density_m_s2_rthz: 0.002}}}
      - {name: mag, plugin: magnetometer, rate_hz: 50}
      - {name: odo, plugin: odometer, rate_hz: 100}
publish: false
"""
CHANGES = (("car/imu", "accelerometer.constant_bias_m_s2", lambda chance: [chance.random() for _ in range(3)]),
           ("car/imu", "gyroscope.constant_bias_rad_s", lambda chance: [chance.random() for _ in range(3)]),
           ("car/odo", "scale_error_percent", lambda chance: chance.uniform(-5, 5)))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


OPTIONS = arguments()
os.environ["OTOLITH_LIBRARY"] = str(OPTIONS.build / "lib" / "libotolith.so")

import otolith  # noqa: E402
from processes import wait_for  # noqa: E402


def attach():
    def attached():
        try:
            return otolith.World("replayed")
        except otolith.OtolithError:
            return None
    return wait_for(attached, "the world cannot be attached")


def change(seed, failures):
    """The changes of one client, each as soon as the previous one has its reply."""
    chance = random.Random(seed)
    try:
        with attach() as world:
            for _ in range(SETS):
                node, key, value = chance.choice(CHANGES)
                world.set(node, key, value(chance))
    except Exception as trouble:  # of any kind: the thread would hide it
        failures.append(f"a client failed: {trouble}")


def make_log(folder, number):
    """One run; returns what went wrong."""
    world, log, failures = folder / "world.yaml", folder / "run.log", []
    log.unlink(missing_ok=True)
    world.write_text(WORLD.replace("SEED", str(number)).replace("MODE", ("realtime", "asap")[number % 2]))
    server = subprocess.Popen([str(OPTIONS.build / "bin" / "otolithd"), str(world), "--log", str(log), "--log-hashes", "20"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    clients = [threading.Thread(target=change, args=(f"{OPTIONS.seed} {number} {i}", failures)) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    server.terminate()
    _, text = server.communicate(timeout=120)
    return failures + ([] if server.returncode == 0 else [f"the server ended with {server.returncode}: {text}"])


def replay(folder):
    """What went wrong, and the number of changes in the log."""
    done = subprocess.run([str(OPTIONS.build / "bin" / "otolith"), "run", "--replay", str(folder / "run.log"), "--mode", "asap",
                           "--quiet"], capture_output=True, text=True, timeout=600, check=False)
    changes = sum(json.loads(line)["entry"] == "set" for line in (folder / "run.log").read_text().splitlines())
    if done.returncode != 0 or "the same as logged" not in done.stderr:
        return [f"the replay ended with {done.returncode}: {done.stderr}"], changes
    return [], changes


def main():
    failed = changes = 0
    with tempfile.TemporaryDirectory(prefix="otolith-replays-") as directory:
        os.environ["XDG_RUNTIME_DIR"] = directory
        for number in range(OPTIONS.runs):
            troubles = make_log(pathlib.Path(directory), number)
            if not troubles:
                troubles, count = replay(pathlib.Path(directory))
                changes += count
            if troubles:
                failed += 1
                print(f"run {number}: {'; '.join(troubles)}", flush=True)
    complete = changes == CLIENTS * SETS * (OPTIONS.runs - failed)
    print(f"{OPTIONS.runs} runs, {changes} changes in their logs{'' if complete else ' (some are missing)'}, {failed} failed")
    return 0 if failed == 0 and complete else 1


if __name__ == "__main__":
    sys.exit(main())
