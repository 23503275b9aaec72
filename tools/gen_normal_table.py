#!/usr/bin/env python3
"""Writes include/otolith/detail/normal_table.h: the inverse of the normal distribution in pieces, for rng.h.

usage: gen_normal_table.py [--check] FILE

The lower tail p in [2^-16, 1/2] is cut into octaves and each octave into 8; in a piece, -Phi^-1(p) is the polynomial of
degree 7 through its values at the 8 Chebyshev nodes. Standard library only; 60 digits throughout."""

import math
from decimal import Decimal, getcontext
from statistics import NormalDist

import generated

getcontext().prec = 60
OCTAVES, PIECES, DEGREE, ROWS = 15, 8, 7, 128
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def upper_tail(x):
    """1 - Phi(x) by the series of erf (Abramowitz & Stegun 26.2.11)."""
    density = (-x * x / 2).exp() / (2 * PI).sqrt()
    term, total, k = x, x, 1
    while abs(term) > Decimal("1e-58"):
        term *= x * x / (2 * k + 1)
        total += term
        k += 1
    return Decimal("0.5") - density * total, density


def minus_inverse(p):
    """-Phi^-1(p): Newton's method from the double-precision value."""
    x = Decimal(-NormalDist().inv_cdf(float(p)))
    for _ in range(3):
        tail, density = upper_tail(x)
        x += (tail - p) / density
    return x


def solve(matrix, right):
    """Gaussian elimination with pivoting."""
    n = len(right)
    rows = [row[:] + [r] for row, r in zip(matrix, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            factor = rows[r][i] / rows[i][i]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[i])]
    x = [Decimal(0)] * n
    for i in reversed(range(n)):
        x[i] = (rows[i][n] - sum(rows[i][j] * x[j] for j in range(i + 1, n))) / rows[i][i]
    return x


def piece(low, width):
    """Coefficients in t = mantissa - middle, |t| <= 1/16, for p in [low, low + width)."""
    half = Decimal(1) / (2 * PIECES)
    nodes = [half * Decimal(round(math.cos(math.pi * (2 * j + 1) / (2 * DEGREE + 2)) * 2**50)) / 2**50
             for j in range(DEGREE + 1)]
    values = [minus_inverse(low + width / 2 * (1 + t / half)) for t in nodes]
    return solve([[t**i for i in range(DEGREE + 1)] for t in nodes], values)


def table():
    yield "/* -Phi^-1(p) in pieces, coefficients from the constant up. Written by tools/gen_normal_table.py: do not edit. */"
    yield "#ifndef OTOLITH_DETAIL_NORMAL_TABLE_H"
    yield "#define OTOLITH_DETAIL_NORMAL_TABLE_H"
    yield ""
    yield f"/* {PIECES} pieces an octave, p from 2^-{OCTAVES + 1}; row {OCTAVES * PIECES} is for p = 1/2 itself, the rest pads a 7-bit index */"
    yield f"static const double oto_impl_normal_table[{ROWS}][{DEGREE + 1}] = {{"
    for i in range(OCTAVES * PIECES + 1):
        octave = Decimal(2) ** (i // PIECES - OCTAVES - 1)
        row = [float(c).hex() for c in piece(octave * (1 + Decimal(i % PIECES) / PIECES), octave / PIECES)]
        yield "    {" + ", ".join(row[:4]) + ","
        yield "     " + ", ".join(row[4:]) + "},"
    yield "};"
    yield ""
    yield "#endif"


if __name__ == "__main__":
    generated.write_or_check(table())
