#!/usr/bin/python3
"""Compares simulated IMU samples of a replayed drive with what the phone in that car measured.

Reads a CSV written by `otolith run … --csv TOPIC=FILE` and the dataset's imu.csv.gz (phone axes forward, right, down),
averages both over a boxcar, removes the means, fits the rotation between the two sets of axes (Wahba's problem by SVD,
Markley 1988), and prints the rms differences, the time offset that would make them smallest, and the mount to write
into the world file. With --plot it draws both through gnuplot.

Means are removed because a phone's biases are unknown; the mean specific force (gravity) is therefore not part of the
fit, and its direction is printed as a check.
"""

import argparse
import csv
import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

ACCEPTED = {"specific_force_m_s2": 0.08, "angular_rate_rad_s": 0.001}
AXES = ("forward", "right", "down")


def read_columns(path, names):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt", newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        missing = [name for name in names if name not in header]
        if missing:
            sys.exit(f"{path}: there is no column {missing[0]}; it has {', '.join(header)}")
        indices = [header.index(name) for name in names]
        return np.array([[float(row[i]) for i in indices] for row in rows if row])


def boxcar(t_s, values, at_s, width_s):
    """Mean over [at - width/2, at + width/2] of the piecewise linear signal, exact for uneven stamps."""
    steps = np.diff(t_s)[:, None] * (values[1:] + values[:-1]) / 2
    integral = np.vstack([np.zeros(values.shape[1]), np.cumsum(steps, axis=0)])

    def primitive(at):
        k = np.clip(np.searchsorted(t_s, at, side="right") - 1, 0, len(t_s) - 2)
        part = (at - t_s[k])[:, None]
        slope = (values[k + 1] - values[k]) / (t_s[k + 1] - t_s[k])[:, None]
        return integral[k] + part * values[k] + part**2 * slope / 2

    return (primitive(at_s + width_s / 2) - primitive(at_s - width_s / 2)) / width_s


def rotation_from_rpy(rpy_deg):
    (sr, sp, sy), (cr, cp, cy) = np.sin(np.radians(rpy_deg)), np.cos(np.radians(rpy_deg))
    return (np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]]) @ np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
            @ np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]]))


def rpy_from_rotation(r):
    return np.degrees([np.arctan2(r[2, 1], r[2, 2]), np.arcsin(-np.clip(r[2, 0], -1, 1)), np.arctan2(r[1, 0], r[0, 0])])


def fit_rotation(measured, simulated, sigmas):
    """R with measured ≈ R simulated, over lists of (n × 3) arrays weighted by 1/sigma²."""
    b = sum(m.T @ s / sigma**2 for m, s, sigma in zip(measured, simulated, sigmas))
    u, _, vt = np.linalg.svd(b)
    return u @ np.diag([1, 1, np.linalg.det(u @ vt)]) @ vt


def rms(difference):
    """Of each axis, and of the vector's length (root of the sum of the axes' squares)."""
    squares = np.mean(difference**2, axis=0)
    return np.sqrt(squares), np.sqrt(np.sum(squares)), np.sqrt(np.mean(squares))


def centred(values):
    return values - values.mean(axis=0)


class Drive:
    """Both recordings, averaged onto one grid; the simulated one may be shifted in time."""

    def __init__(self, sim_path, imu_path, width_s):
        self.width_s = width_s
        sim = read_columns(sim_path, ["t_ns"] + [f"{kind}.{axis}" for kind in ("angular_velocity", "linear_acceleration")
                                                 for axis in "xyz"])
        self.sim_t_s, self.sim = sim[:, 0] * 1e-9, sim[:, 1:]
        imu = read_columns(imu_path, ["t_s", "gx", "gy", "gz", "ax", "ay", "az"])
        self.imu_t_s, self.imu = imu[:, 0], imu[:, 1:]
        margin = width_s / 2 + 0.25
        start = max(self.sim_t_s[0], self.imu_t_s[0]) + margin
        end = min(self.sim_t_s[-1], self.imu_t_s[-1]) - margin
        if end - start < 10 * width_s:
            sys.exit(f"{sim_path}: it has only {end - start:.3g} s in common with {imu_path}; simulate at least 12 s")
        self.t_s = np.arange(start, end, 0.05)
        self.measured = boxcar(self.imu_t_s, self.imu, self.t_s, width_s)

    def simulated(self, shift_s=0.0):
        return boxcar(self.sim_t_s, self.sim, self.t_s + shift_s, self.width_s)

    def fit(self, simulated):
        pairs = [(centred(self.measured[:, s]), centred(simulated[:, s])) for s in (slice(0, 3), slice(3, 6))]
        return fit_rotation([p[0] for p in pairs], [p[1] for p in pairs],
                            [ACCEPTED["angular_rate_rad_s"], ACCEPTED["specific_force_m_s2"]])

    def differences(self, simulated, rotation):
        return {"angular_rate_rad_s": centred(self.measured[:, :3]) - centred(simulated[:, :3]) @ rotation.T,
                "specific_force_m_s2": centred(self.measured[:, 3:]) - centred(simulated[:, 3:]) @ rotation.T}

    def best_shift_s(self):
        """Where a parabola through the angular rate's misfit has its minimum."""
        shifts = np.arange(-0.2, 0.2001, 0.01)
        cost = []
        for shift in shifts:
            simulated = self.simulated(shift)
            cost.append(np.mean(self.differences(simulated, self.fit(simulated))["angular_rate_rad_s"]**2))
        k = int(np.clip(np.argmin(cost), 1, len(shifts) - 2))
        a, b, c = cost[k - 1:k + 2]
        return shifts[k] + 0.01 * (a - c) / (2 * (a - 2 * b + c))


GNUPLOT = """
set terminal {terminal} size 1000,900 font 'sans,11' background rgb 'white'
set output '{output}'
set multiplot layout 4,1 margins 0.09,0.98,0.06,0.95 spacing 0.01,0.05
set grid lc rgb '#dddddd'; set key top right horizontal samplen 2; set xrange [{first}:{last}]
set style line 1 lc rgb '#888888' lw 3; set style line 2 lc rgb '#0060c0' lw 1.5
set ylabel 'm/s²'; set format x ''
set title 'specific force, forward: measured by the phone and simulated, {width:g} s boxcar, mean removed' offset 0,-0.7
plot $data u 1:5 w l ls 1 t 'measured', '' u 1:11 w l ls 2 t 'otolith'
set title 'specific force, right' offset 0,-0.7
plot $data u 1:6 w l ls 1 t '', '' u 1:12 w l ls 2 t ''
set ylabel 'rad/s'
set title 'angular rate, down' offset 0,-0.7
plot $data u 1:4 w l ls 1 t '', '' u 1:10 w l ls 2 t ''
set format x '%g'; set xlabel 'time, s'
set title 'angular rate, right' offset 0,-0.7
plot $data u 1:3 w l ls 1 t '', '' u 1:9 w l ls 2 t ''
"""


def plot(path, drive, simulated, rotation):
    sim = np.hstack([centred(simulated[:, :3]) @ rotation.T, centred(simulated[:, 3:]) @ rotation.T])
    table = np.hstack([drive.t_s[:, None], centred(drive.measured), sim])
    lines = "\n".join(" ".join(f"{x:.5g}" for x in row) for row in table[::2])
    terminal = {".svg": "svg", ".png": "pngcairo"}.get(Path(path).suffix)
    if terminal is None:
        sys.exit(f"{path}: the plot's name must end in .svg or .png")
    script = f"$data << EOD\n{lines}\nEOD\n" + GNUPLOT.format(
        terminal=terminal, output=path, width=drive.width_s, first=drive.t_s[0], last=drive.t_s[-1])
    subprocess.run(["gnuplot"], input=script, text=True, check=True)


def report(drive, mount_rpy_deg):
    simulated = drive.simulated()
    rotation = drive.fit(simulated)
    mount = rotation_from_rpy(mount_rpy_deg) @ rotation.T  # body from the fitted sensor axes
    result = {"samples": len(drive.t_s), "boxcar_s": drive.width_s, "best_time_shift_s": drive.best_shift_s(),
              "left_to_rotate_deg": float(np.degrees(np.arccos(np.clip((np.trace(rotation) - 1) / 2, -1, 1)))),
              "mount_rpy_deg": [float(x) for x in rpy_from_rotation(mount)]}
    for label, r in (("as_mounted", np.eye(3)), ("fitted", rotation)):
        for name, difference in drive.differences(simulated, r).items():
            axes, length, mean = rms(difference)
            result[f"{label}.{name}"] = {**dict(zip(AXES, map(float, axes))), "vector": float(length),
                                         "per_axis": float(mean), "accepted": ACCEPTED[name]}
    mean_f = drive.measured[:, 3:].mean(axis=0), rotation @ simulated[:, 3:].mean(axis=0)
    cosine = mean_f[0] @ mean_f[1] / np.linalg.norm(mean_f[0]) / np.linalg.norm(mean_f[1])
    result["gravity_apart_deg"] = float(np.degrees(np.arccos(cosine)))
    return result, simulated, rotation


def show(result):
    print(f"{result['samples']} points, {result['boxcar_s']:g} s boxcar, means removed")
    for key in ("as_mounted", "fitted"):
        for name in ACCEPTED:
            r = result[f"{key}.{name}"]
            axes = ", ".join(f"{axis} {r[axis]:.5f}" for axis in AXES)
            print(f"{key.replace('_', ' '):10s} {name:20s} rms {axes}; vector {r['vector']:.5f}, per axis "
                  f"{r['per_axis']:.5f} (accepted {r['accepted']:g})")
    print(f"fitted mount rpy_deg: [{', '.join(f'{x:.3f}' for x in result['mount_rpy_deg'])}], "
          f"{result['left_to_rotate_deg']:.3f} deg from the one simulated")
    print(f"time shift of smallest misfit {result['best_time_shift_s']*1e3:+.1f} ms; "
          f"mean specific forces {result['gravity_apart_deg']:.2f} deg apart")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(__file__).resolve().parent.parent.parent / "shared/data/drive_comma2k19"
    parser.add_argument("--sim", required=True, help="CSV of the simulated IMU's samples")
    parser.add_argument("--imu", default=shared / "imu.csv.gz", help="measured samples (default: %(default)s)")
    parser.add_argument("--mount-rpy-deg", type=float, nargs=3, default=[180.0, 0.0, 0.0], metavar=("ROLL", "PITCH", "YAW"),
                        help="the mount that was simulated (default: 180 0 0)")
    parser.add_argument("--boxcar", type=float, default=1.0, help="seconds (default: 1)")
    parser.add_argument("--plot", help="picture to write, .svg or .png")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args()
    drive = Drive(options.sim, options.imu, options.boxcar)
    result, simulated, rotation = report(drive, options.mount_rpy_deg)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)
    if options.plot:
        plot(options.plot, drive, simulated, rotation)
    as_mounted = [result[f"as_mounted.{name}"]["vector"] <= limit for name, limit in ACCEPTED.items()]
    return 0 if all(as_mounted) else 1


if __name__ == "__main__":
    sys.exit(main())
