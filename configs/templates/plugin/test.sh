#!/bin/sh
# test.sh PLUGIN.so: ten seconds at rest, without a world. The mean of the vertical acceleration is gravity, within the noise.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk 'BEGIN { print "t_s"; for (n = 1; n <= 1000; n++) print n / 100 }' >"$work/rest.csv"
otolith sense --plugin "$1" --rate 100 --in "$work/rest.csv" --out "$work/samples.csv"
# Six standard errors of the mean of 1000 samples with the noise of 0.02 m/s^2: 0.0038. Gravity depends on the place, 9.78 to 9.84.
awk -F, '
  NR == 1 { for (i = 1; i <= NF; i++) if ($i == "linear_acceleration.z") column = i; next }
  { sum += $column; count++ }
  END {
    if (!column || count != 1000) { print "expected 1000 samples with linear_acceleration.z, got " count; exit 1 }
    mean = sum / count
    print "mean of 1000 samples: " mean " m/s^2"
    exit mean < 9.776 || mean > 9.844
  }' "$work/samples.csv"
