#!/usr/bin/python3
"""How often the standard errors that `otolith fit` prints contain the truth.

    fit_coverage.py [--seeds 20] [--jobs 1] [--build build/release]

Each seed is a rest log of 1000 s at 50 Hz of an IMU whose noise is known. The accelerometer has N, a Gauss-Markov process, or N and a
constant bias; the gyroscope N, K and a digit, or N, B, K. Three axes are three trials; the bias has no trial along gravity. Printed
is for each term how often the fit has it, how far the estimates are off on average and how much they vary, and the share within one
and within two standard errors; for errors that are normal these are 68 and 95 %. A term that the fit left out counts as outside.
"""
import argparse
import concurrent.futures
import json
import math
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RATE_HZ, SECONDS, MARKOV_S = 50, 1000, 7.0
LOGS = {  # of the accelerometer and the gyroscope: density as data sheets print it, and the terms of the truth
    "markov, walk": ({"noise_density": 2e-3, "gauss_markov": 2e-3}, {"noise_density": 2e-4, "random_walk": 2e-5, "resolution": 2e-4}),
    "floor": ({"noise_density": 2e-3, "constant_bias": 0.05}, {"noise_density": 2e-4, "bias_instability": 1e-4, "random_walk": 5e-6}),
}


def settings(triad, terms):
    unit = {"accelerometer": "m_s2", "gyroscope": "rad_s"}[triad]
    for term, value in terms.items():
        if term == "gauss_markov":
            yield f"{triad}.gauss_markov_tau_s=[{MARKOV_S},0,0,0,0,0,0,0]"
            yield from (f"{triad}.gauss_markov_{axis}_{unit}=[{value},0,0,0,0,0,0,0]" for axis in "xyz")
        else:
            yield f"{triad}.{term}_{unit}{'_rthz' if term in ('noise_density', 'random_walk') else ''}={value}"


def found_in(column, term):
    """Estimate and standard error of a term; None: the fit does not have it."""
    if term == "noise_density":
        return math.sqrt(2) * column["N"], math.sqrt(2) * column["N"] * column["N_relative_error"]
    if term == "gauss_markov":  # the processes of the grid stand for that of MARKOV_S together
        near = [(u, u * error) for tau, u, error in column["gauss_markov"] if 0.5 < tau < 100]
        total = math.sqrt(sum(u * u for u, _ in near))
        return (total, math.sqrt(sum((u * s) ** 2 for u, s in near)) / total) if near else None
    if term == "constant_bias":
        return column["mean"], column["mean_error"]
    if term == "resolution":  # exact, but for the digits of the log
        return (column["resolution"], 1e-6 * column["resolution"]) if column["resolution"] > 0 else None
    key = {"random_walk": "K", "bias_instability": "B"}[term]
    return (column[key], column[key] * column[f"{key}_relative_error"]) if column[key] > 0 else None


def run(options, name, seed):
    with tempfile.TemporaryDirectory(prefix="otolith-coverage-") as directory:
        truth, log = Path(directory, "truth.csv"), Path(directory, "rest.csv")
        truth.write_text("t_s\n" + "".join(f"{(i + 1) / RATE_HZ:.2f}\n" for i in range(RATE_HZ * SECONDS)))
        terms = dict(zip(("accelerometer", "gyroscope"), LOGS[name]))
        sets = [word for triad, some in terms.items() for one in settings(triad, some) for word in ("--set", one)]
        program = options.build / "bin" / "otolith"
        subprocess.run([program, "sense", "--plugin", "mems_imu", "--in", truth, "--out", log, "--rate", str(RATE_HZ), "--seed", str(seed),
                        *sets], check=True, capture_output=True)
        done = subprocess.run([program, "fit", log, "--out", Path(directory, "part.yaml"), "--json"], check=False, capture_output=True, text=True)
        columns = json.loads(done.stdout)["columns"]
    names = {"accelerometer": "linear_acceleration", "gyroscope": "angular_velocity"}
    return [(triad, term, value, found_in(columns[f"{names[triad]}.{axis}"], term))
            for triad, some in terms.items() for term, value in some.items() for axis in ("xy" if term == "constant_bias" else "xyz")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "release")
    options = parser.parse_args()
    print("| log | term | found | mean off | spread | standard error | within 1 | within 2 |\n|---|---|---|---|---|---|---|---|")
    for name in LOGS:
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            drawn = [row for rows in pool.map(lambda seed: run(options, name, seed), range(1, options.seeds + 1)) for row in rows]
        for triad, term, value in dict.fromkeys(row[:3] for row in drawn):
            trials = [row[3] for row in drawn if row[:2] == (triad, term)]
            good = [trial for trial in trials if trial is not None]
            off = [estimate / value - 1 for estimate, _ in good]
            if len(good) < 2:
                print(f"| {name} | {triad} {term} | {len(good)} of {len(trials)} | | | | | |", flush=True)
                continue
            within = [sum(abs(estimate - value) <= k * error for estimate, error in good) / len(trials) for k in (1, 2)]
            print(f"| {name} | {triad} {term} | {len(good)} of {len(trials)} | {100 * statistics.mean(off):.1f} % | {100 * statistics.stdev(off):.1f} % | "
                  f"{100 * statistics.mean(error / value for _, error in good):.1f} % | {100 * within[0]:.0f} % | {100 * within[1]:.0f} % |", flush=True)


if __name__ == "__main__":
    main()
