#!/usr/bin/env python3
"""Writes the golden values of the World Magnetic Model.

usage: gen_wmm_golden.py tables TEST_VALUES_2020 TEST_VALUES_2025 > tests/golden/wmm_tables.csv
       gen_wmm_golden.py digits > tests/golden/wmm_digits.csv

`tables` copies every fifth row of NOAA's two tables of test values, digits as printed. `digits` evaluates the technical
report's equations with 50 digits, from the definition of the Legendre functions, on configs/magnetics. Standard library
only; run by hand."""

import math
import pathlib
import sys
from decimal import Decimal as D, getcontext

getcontext().prec = 50
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "configs" / "magnetics"
DEGREE = 12
PI = D("3.14159265358979323846264338327950288419716939937510582097494459")
PLACES = """2025 28 89 -121, 2025.5 6 -36 -137, 2026.5 12 33 -145, 2029.5 33 17 5, 2025 51 -33 109, 2027.25 850 -71.5 179.75,
2026.5 44 -46 -42, 2028 -1 0 0, 2030 0 45 -180, 2029 0.52 48.137 11.575, 2026 300 89.999 33.5, 2028.5 10 -89.999 -145,
2020 28 89 -121, 2022.5 850 20.5 100, 2025 -1 -65 140, 2021.75 0 1e-9 90"""


def tables(paths):
    print("# Rows of NOAA's WMM2020 and WMM2025 test values (public domain), every fifth, as printed: tools/gen_wmm_golden.py.")
    print("model,year,altitude_km,latitude_deg,longitude_deg,D,I,H,X,Y,Z,F,D_yr,I_yr,H_yr,X_yr,Y_yr,Z_yr,F_yr")
    for path, model in zip(paths, (2020, 2025)):
        rows = [line.split() for line in open(path) if line.strip() and not line.startswith("#")]
        for row in rows[::5]:
            print(",".join([str(model)] + row))


def sine(x):
    term = total = x
    k = 1
    while abs(term) > D("1e-60"):
        term *= -x * x / ((k + 1) * (k + 2))
        total += term
        k += 2
    return total


def cosine(x):
    return sine(x + PI / 2)


def radians(degrees):
    return degrees * PI / 180


def legendre(n, m, s):
    """Schmidt semi-normalised P(n,m) of sine s: Rodrigues' polynomial, differentiated m times (report, eq. 5 and 6)."""
    total = D(0)
    for k in range(n // 2 + 1):
        power = n - 2 * k - m
        if power >= 0:
            c = (-1) ** k * math.comb(n, k) * math.comb(2 * n - 2 * k, n) * math.perm(n - 2 * k, m)
            total += D(c) / 2**n * (s**power if power else 1)
    norm = D(2 if m else 1) * math.factorial(n - m) / math.factorial(n + m)
    return total * norm.sqrt() * (1 - s * s).sqrt() ** m if m else total


def read(path):
    lines = path.read_text().splitlines()
    terms = {}
    for line in lines[1:]:
        if line.startswith("9999"):
            break
        n, m, *numbers = line.split()
        terms[int(n), int(m)] = [D(x) for x in numbers]
    return D(lines[0].split()[0]), terms


def evaluate(path, year, alt_km, lat_deg, lon_deg):
    epoch, terms = read(path)
    a, radius = D(6378137), D(6371200)
    f = 1 / D("298.257223563")
    e2 = f * (2 - f)
    lat, lon, alt = radians(lat_deg), radians(lon_deg), alt_km * 1000
    s, c = sine(lat), cosine(lat)
    rc = a / (1 - e2 * s * s).sqrt()
    p, z = (rc + alt) * c, (rc * (1 - e2) + alt) * s
    r = (p * p + z * z).sqrt()
    sg, cg = z / r, p / r
    sums = [[D(0)] * 3, [D(0)] * 3]
    for (n, m), (g, h, g_yr, h_yr) in terms.items():
        scale = (radius / r) ** (n + 2)
        here, above = legendre(n, m, sg), legendre(n + 1, m, sg)
        slope = (n + 1) * sg / cg * here - D((n + 1) ** 2 - m * m).sqrt() / cg * above
        cm, sm = cosine(m * lon), sine(m * lon)
        for total, gt, ht in ((sums[0], g + (year - epoch) * g_yr, h + (year - epoch) * h_yr), (sums[1], g_yr, h_yr)):
            total[0] -= scale * (gt * cm + ht * sm) * slope
            total[1] += scale * m * (gt * sm - ht * cm) * here / cg
            total[2] -= scale * (n + 1) * (gt * cm + ht * sm) * here
    sin_psi, cos_psi = sg * c - cg * s, cg * c + sg * s
    for x, y, down in sums:
        yield from (x * cos_psi - down * sin_psi, y, x * sin_psi + down * cos_psi)


def digits():
    print("# The World Magnetic Model by its report's equations with 50 digits: tools/gen_wmm_golden.py.")
    print("model,year,altitude_km,latitude_deg,longitude_deg,X,Y,Z,X_yr,Y_yr,Z_yr")
    for i, place in enumerate(PLACES.replace("\n", " ").split(",")):
        words = place.split()
        model = 2025 if i < 12 else 2020
        values = evaluate(FOLDER / f"WMM_{model}.COF", *(D(w) for w in words))
        print(",".join([str(model)] + words + [f"{v:.17g}" for v in values]))


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "tables":
        tables(sys.argv[2:])
    elif sys.argv[1:] == ["digits"]:
        digits()
    else:
        sys.exit(__doc__)
