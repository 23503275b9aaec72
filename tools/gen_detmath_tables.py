#!/usr/bin/env python3
"""Writes include/otolith/detail/tables.h: the constants of detmath.h in more than double precision.

usage: gen_detmath_tables.py [--check] FILE

With --check the file is compared instead of written. Standard library only; 420 digits throughout."""

from decimal import Decimal, ROUND_FLOOR, getcontext
from fractions import Fraction

import generated

getcontext().prec = 420
LOG_STEPS, LOG_OFFSET = 64, Fraction(45, 64)  # log table: z in [45/64, 45/32), boundaries hit 1


def atan_inverse(n):
    """atan(1/n) by its power series."""
    total, term, k = Decimal(0), Decimal(1) / n, 0
    while abs(term) > Decimal(10) ** -415:
        total += term / (2 * k + 1) * (-1) ** k
        term /= n * n
        k += 1
    return total


def atan(x):
    """atan of 0 <= x <= 1: halve the angle until the series is short."""
    if x == 0:
        return Decimal(0)
    doublings = 0
    while x > Decimal("0.01"):
        x = x / (1 + (1 + x * x).sqrt())
        doublings += 1
    return atan_inverse(1 / x) * 2**doublings


PI = 16 * atan_inverse(Decimal(5)) - 4 * atan_inverse(Decimal(239))  # Machin
LN2 = Decimal(2).ln()


def to_double(x):
    """Nearest double (Fraction division rounds correctly)."""
    f = Fraction(x)
    return f.numerator / f.denominator


def floor_to(x, bits):
    """Largest multiple of 2^-bits that is <= x."""
    return Decimal(int((x * Decimal(2) ** bits).to_integral_value(ROUND_FLOOR))) / Decimal(2) ** bits


def split(x, first_bits):
    """x as parts: each entry of first_bits cuts at that multiple, the last part is the nearest double."""
    parts = []
    for bits in first_bits:
        part = floor_to(x, bits)
        parts.append(to_double(part))
        x -= part
    return parts + [to_double(x)]


def define(name, value, comment=""):
    return f"#define {name} {value.hex()}" + (f" /* {comment} */" if comment else "")


def pair(x):
    hi = to_double(x)
    return hi, to_double(x - Decimal(hi))


def rows(values, per_line):
    lines = []
    for i in range(0, len(values), per_line):
        lines.append("    " + ", ".join(values[i : i + per_line]) + ",")
    return lines


def log_row(i):
    """Reciprocal of the middle of interval i in 9 bits; c = -log(reciprocal) as a multiple of 2^-42 and the rest."""
    width = Fraction(1, 128) if i < 38 else Fraction(1, 64)
    low = LOG_OFFSET + i * Fraction(1, 128) if i < 38 else 1 + (i - 38) * Fraction(1, 64)
    if low + width == 1 or low == 1:
        inverse = Fraction(1)
    else:
        inverse = Fraction(round(256 / (low + width / 2)), 256)
    c = -(Decimal(inverse.numerator) / inverse.denominator).ln()
    hi, lo = split(c, [42])
    return "{%s, %s, %s}" % (float(inverse).hex(), hi.hex(), lo.hex())


def table():
    yield "/* Constants of detmath.h in parts. Written by tools/gen_detmath_tables.py: do not edit. */"
    yield "#ifndef OTOLITH_DETAIL_TABLES_H"
    yield "#define OTOLITH_DETAIL_TABLES_H"
    yield ""
    yield "#include <stdint.h>"
    yield ""
    half_pi = PI / 2
    names = ["OTO_IMPL_PIO2_1", "OTO_IMPL_PIO2_2", "OTO_IMPL_PIO2_3", "OTO_IMPL_PIO2_4"]
    yield "/* pi/2 in three parts of 33 bits (times a 20-bit integer exact) and a rest */"
    for name, part in zip(names, split(half_pi, [32, 65, 98])):
        yield define(name, part)
    yield "/* pi/2 in two parts of 48 bits (times a 5-bit integer exact) and a rest */"
    for name, part in zip(["OTO_IMPL_PIO2_NEAR_1", "OTO_IMPL_PIO2_NEAR_2", "OTO_IMPL_PIO2_NEAR_3"], split(half_pi, [47, 95])):
        yield define(name, part)
    for name, value in (("PIO2", half_pi), ("PI", PI)):
        hi, lo = pair(value)
        yield define(f"OTO_IMPL_{name}_HI", hi)
        yield define(f"OTO_IMPL_{name}_LO", lo)
    yield define("OTO_IMPL_2_PI", to_double(2 / PI), "2/pi")
    yield "/* ln2 with 42 fraction bits (times an exponent exact), and ln2/32 with 37 bits (times 16 bits exact) */"
    for name, part in zip(["OTO_IMPL_LN2_HI", "OTO_IMPL_LN2_LO"], split(LN2, [42])):
        yield define(name, part)
    for name, part in zip(["OTO_IMPL_LN2_32_HI", "OTO_IMPL_LN2_32_LO"], split(LN2 / 32, [42])):
        yield define(name, part)
    yield define("OTO_IMPL_32_LN2", to_double(32 / LN2), "32/ln2")
    yield ""
    yield "/* 2/pi in binary: a word of zeros, then 64 bits a word */"
    words = [0] + [int(2 / PI * Decimal(2) ** (64 * (j + 1))) % 2**64 for j in range(20)]
    yield "static const uint64_t oto_impl_two_over_pi[21] = {"
    yield from rows(["0x%016xu" % w for w in words], 4)
    yield "};"
    yield ""
    yield "/* atan(k/16), high and low part */"
    yield "static const double oto_impl_atan_table[17][2] = {"
    yield from rows(["{%s, %s}" % tuple(v.hex() for v in pair(atan(Decimal(k) / 16))) for k in range(17)], 2)
    yield "};"
    yield ""
    yield "/* 2^(k/32), high and low part */"
    yield "static const double oto_impl_exp2_table[32][2] = {"
    yield from rows(["{%s, %s}" % tuple(v.hex() for v in pair((LN2 * k / 32).exp())) for k in range(32)], 2)
    yield "};"
    yield ""
    yield "/* z in [45/64, 45/32) by steps: 9-bit 1/c, log(c) with 42 fraction bits, rest of log(c) */"
    yield "static const double oto_impl_log_table[64][3] = {"
    yield from rows([log_row(i) for i in range(LOG_STEPS)], 1)
    yield "};"
    yield ""
    yield "#endif"


if __name__ == "__main__":
    generated.write_or_check(table())
