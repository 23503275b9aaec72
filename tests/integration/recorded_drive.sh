#!/usr/bin/env bash
# recorded_drive.sh BUILD_DIR SOURCE_DIR: the recorded drive replayed by the server agrees with its measured IMU, with the
# mount as the world file has it. Skipped without the recording or NumPy.
set -euo pipefail
build=$1 source=$2
recording=$source/../shared/data/drive_comma2k19
[ -r "$recording/imu.csv.gz" ] || { echo "skipped: there is no $recording"; exit 77; }
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "skipped: system Python has no NumPy"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_RUNTIME_DIR=$work
"$build/bin/otolith" run "$source/configs/worlds/recorded_drive.yaml" --for 60s --mode asap \
  --csv recorded/car/imu="$work/imu.csv"
/usr/bin/python3 "$source/tools/compare_recorded_drive.py" --sim "$work/imu.csv" --imu "$recording/imu.csv.gz"
