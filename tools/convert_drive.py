#!/usr/bin/python3
"""Converts the log of a real drive to the two files that `otolith calibrate mount` reads, OUT/imu.csv and OUT/speed.csv.

    convert_drive.py kitti DRIVE OUT           2011_09_26_drive_0001_extract, with oxts/ (the unsynced data at 100 Hz)
    convert_drive.py comma2k19 SEGMENT… OUT    one or more segments of a route, in their order, each with processed_log/
    convert_drive.py wid TRIAL… OUT            one or more trials, in their order, each with CAR.csv and IMU4.csv
    convert_drive.py kth FOLDER OUT            with GNSSaidedINS_data.mat; needs Debian's python3-scipy

The datasets are downloaded by the user. WID is the Wheel-mounted Inertial Dataset (doi 10.6084/m9.figshare.27129999); KTH is the
drive that is part of I. Skog's GNSS-aided INS for MATLAB. At the end the tool prints the command that calibrates, with the nominal
mount of the dataset's axes: KITTI's are forward, left, up; the phone of comma2k19 and the IMU of KTH have forward, right, down;
the sensor on the chassis of WID has right, forward, up.
"""
import argparse
import csv
import sys
from pathlib import Path

import numpy as np

OPTIONS = {"kitti": "--nominal 0,0,0",
           "comma2k19": "--nominal 180,0,0",
           # The speed is that of a wheel: the sensor may be farther from it than from the middle of the car.
           "wid": "--nominal 0,0,-90 --set box.yaw_deg=10 --set position.sigma_y_m=1",
           # A speedometer four times a second, with errors of 0.2 to 0.4 m/s.
           "kth": "--nominal 180,0,0 --set box.yaw_deg=15 --set speed.noise_m_s=0.3"}
LEAST_RATE_HZ = 50  # of mount_calibration
# Places in a line of oxts/data: dataformat.txt of the dataset.
KITTI_FIELDS, KITTI_SPEED, KITTI_FORCE, KITTI_RATE = 30, 8, slice(11, 14), slice(17, 20)
# A file of Xsens DOT: columns of a row, and limits beyond which a row is damaged.
DOT_COLUMNS = ("SampleTimeFine", "Acc_X", "Acc_Y", "Acc_Z", "Gyr_X", "Gyr_Y", "Gyr_Z")
DOT_RANGE = np.array([160.0] * 3 + [2000.0] * 3)  # m/s², deg/s
# IMU4 turns with the left rear wheel, and has the clock of CAR.csv. Rolling radius: way by satellites over turns, trials 08 and 09.
WID_WHEEL_M = 0.293


class Refusal(Exception):
    """What the files lack, in one sentence."""


def load_text(path):
    try:
        return np.loadtxt(path, ndmin=1)
    except (OSError, ValueError) as reason:
        raise Refusal(f"{path} cannot be read: {reason}") from None


def kitti_times_s(path):
    """Lines as 2011-09-26 13:02:25.594360375, in seconds after the first."""
    try:
        stamps = np.array(path.read_text(encoding="ascii").split("\n")[:-1], dtype="datetime64[ns]")
    except (OSError, ValueError) as reason:
        raise Refusal(f"{path} cannot be read: {reason}") from None
    return (stamps - stamps[:1]).astype(np.int64) / 1e9


def read_kitti(folders):
    drive, = folders
    t_s = kitti_times_s(drive / "oxts" / "timestamps.txt")
    files = sorted((drive / "oxts" / "data").glob("*.txt"))
    if len(files) != len(t_s) or len(t_s) == 0:
        raise Refusal(f"{drive}/oxts has {len(files)} files in data/ and {len(t_s)} lines in timestamps.txt; as many are expected")
    rows = np.array([load_text(file)[:KITTI_FIELDS] for file in files])
    if rows.shape[1] != KITTI_FIELDS:
        raise Refusal(f"{files[0]} has {rows.shape[1]} numbers; {KITTI_FIELDS} are expected")
    return t_s, np.hstack([rows[:, KITTI_FORCE], rows[:, KITTI_RATE]]), t_s, rows[:, KITTI_SPEED]


def load_stream(folder, columns):
    """The arrays `t` and `value` of one folder of processed_log; they are .npy files without that ending."""
    try:
        t_s, value = np.load(folder / "t"), np.load(folder / "value")
    except (OSError, ValueError) as reason:
        raise Refusal(f"{folder} cannot be read: {reason}") from None
    value = value.reshape(len(t_s), -1) if len(t_s) > 0 and value.size % len(t_s) == 0 else value
    if value.ndim != 2 or value.shape != (len(t_s), columns):
        raise Refusal(f"{folder}/value has the shape {value.shape}; {len(t_s)} rows of {columns} are expected")
    return t_s, value


def read_comma2k19(folders):
    def stream(name, columns):
        parts = [load_stream(folder / "processed_log" / name, columns) for folder in folders]
        return np.concatenate([t for t, _ in parts]), np.vstack([value for _, value in parts])

    t_s, force = stream("IMU/accelerometer", 3)
    t_rate_s, rate = stream("IMU/gyro", 3)
    t_speed_s, speed = stream("CAN/speed", 1)
    order = np.argsort(t_rate_s, kind="stable")
    both = (t_s >= t_rate_s.min()) & (t_s <= t_rate_s.max())
    at_force = [np.interp(t_s[both], t_rate_s[order], rate[order, i]) for i in range(3)]
    start_s = min(t_s.min(), t_speed_s.min())
    return t_s[both] - start_s, np.column_stack([force[both], *at_force]), t_speed_s - start_s, speed[:, 0]


def read_dot(path):
    """Times, specific force in m/s² and rate in rad/s of a log of Xsens DOT, which has a line `sep=,` above its header."""
    try:
        with open(path, encoding="ascii", newline="") as file:
            file.readline()
            rows = [[float(row[name]) for name in DOT_COLUMNS] for row in csv.DictReader(file)]
    except KeyError as column:
        raise Refusal(f"{path} has no column {column}") from None
    except (OSError, ValueError, TypeError) as reason:  # TypeError: a row that ends too early
        raise Refusal(f"{path} cannot be read: {reason}") from None
    rows = np.array(rows[1:]).reshape(-1, len(DOT_COLUMNS))  # the first one is zero
    rows = rows[(np.abs(rows[:, 1:]) <= DOT_RANGE).all(axis=1)]
    return rows[:, 0] / 1e6, np.hstack([rows[:, 1:4], np.radians(rows[:, 4:7])])


def read_wid(folders):
    imus, wheels = [], []
    for folder in folders:
        imus.append(read_dot(folder / "CAR.csv"))
        t_s, wheel = read_dot(folder / "IMU4.csv")
        wheels.append((t_s, WID_WHEEL_M * wheel[:, 5]))
    t_s, t_speed_s = (np.concatenate([t for t, _ in parts]) for parts in (imus, wheels))
    start_s = np.concatenate([t_s, t_speed_s]).min(initial=np.inf)
    return t_s - start_s, np.vstack([imu for _, imu in imus]), t_speed_s - start_s, np.concatenate([speed for _, speed in wheels])


def read_kth(folders):
    folder, = folders
    path = folder / "GNSSaidedINS_data.mat"
    try:
        from scipy.io import loadmat  # only this dataset needs it
    except ImportError:
        raise Refusal("scipy is missing: Debian's python3-scipy") from None
    try:
        data = loadmat(path, squeeze_me=True)["in_data"][()]
        imu, speedometer = data["IMU"][()], data["SPEEDOMETER"][()]
        return imu["t"], np.vstack([imu["acc"], imu["gyro"]]).T, speedometer["t"], speedometer["speed"]
    except Exception as reason:  # of a damaged file loadmat raises almost any
        raise Refusal(f"{path} cannot be read: {reason}") from None


READERS = {"kitti": read_kitti, "comma2k19": read_comma2k19, "wid": read_wid, "kth": read_kth}
ONE_FOLDER = ("kitti", "kth")


def rising(what, t_s, values):
    """Without rows that are not finite or not later than every row before them."""
    latest = np.maximum.accumulate(np.concatenate([[-np.inf], t_s[:-1]]))
    good = (t_s > latest) & np.isfinite(values if values.ndim == 2 else values[:, None]).all(axis=1)
    if not good.all():
        print(f"convert_drive: {what}: {len(good) - good.sum()} of {len(good)} rows left out: not finite, or not later than the "
              "rows before them", file=sys.stderr)
    return t_s[good], values[good]


def write_csv(path, header, t_s, values):
    columns = np.column_stack([t_s, values])
    formats = ["%.9f"] + ["%.9g"] * (columns.shape[1] - 1)
    np.savetxt(path, columns, fmt=formats, delimiter=",", header=header, comments="")


def convert(dataset, folders, out):
    t_s, imu, t_speed_s, speed = READERS[dataset](folders)
    t_s, imu = rising("IMU", t_s, imu)
    t_speed_s, speed = rising("speed", t_speed_s, speed)
    if len(t_s) < 2 or len(t_speed_s) < 2:
        raise Refusal("there are fewer than two samples of IMU or speed")
    rate_hz = 1 / np.median(np.diff(t_s))
    if rate_hz < LEAST_RATE_HZ:
        raise Refusal(f"the IMU has {rate_hz:.0f} samples a second; {LEAST_RATE_HZ} are needed (of KITTI the _extract data, not _sync)")
    out.mkdir(parents=True, exist_ok=True)
    write_csv(out / "imu.csv", "t_s,ax,ay,az,gx,gy,gz", t_s, imu)
    write_csv(out / "speed.csv", "t_s,v_m_s", t_speed_s, speed)
    print(f"otolith calibrate mount --imu {out}/imu.csv --speed {out}/speed.csv {OPTIONS[dataset]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", choices=sorted(READERS))
    parser.add_argument("folder", type=Path, nargs="+", help="of the drive; the last one is OUT")
    options = parser.parse_args()
    *folders, out = options.folder
    if not folders or (options.dataset in ONE_FOLDER and len(folders) != 1):
        parser.error("kitti and kth take FOLDER OUT, comma2k19 and wid FOLDER… OUT")
    try:
        convert(options.dataset, folders, out)
    except Refusal as refusal:
        print(f"convert_drive: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
