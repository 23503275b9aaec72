#!/usr/bin/env python3
"""Writes golden numbers of include/otolith/rng.h from independent code: Philox blocks from NumPy's Philox (counter + 1,
because NumPy counts before it draws), normal deviates from 60-digit arithmetic.

usage: gen_rng_golden.py PHILOX_FILE NORMAL_FILE"""

import random
import sys
from decimal import Decimal

import numpy

from gen_normal_table import upper_tail

WORD = 2**64


def philox_rows():
    draw = random.Random(20240607)
    for i in range(200):
        key = [draw.randrange(WORD) for _ in range(2)]
        counter = [draw.randrange(WORD) if i % 2 else draw.randrange(4) for _ in range(4)]
        number = sum(c << (64 * j) for j, c in enumerate(counter))
        before = (number - 1) % 2**256
        generator = numpy.random.Philox(
            key=numpy.array(key, dtype=numpy.uint64),
            counter=numpy.array([before >> (64 * j) & (WORD - 1) for j in range(4)], dtype=numpy.uint64),
        )
        yield key + counter + [int(v) for v in generator.random_raw(4)]


def deviate(bits):
    """Phi^-1 at the middle of the pair of words that share all but the last bit."""
    lower = bits < WORD // 2
    p = Decimal((bits if lower else WORD - 1 - bits) | 1) / WORD
    low, high = Decimal(0), Decimal(10)
    while high - low > Decimal("1e-30"):
        middle = (low + high) / 2
        if upper_tail(middle)[0] > p:
            low = middle
        else:
            high = middle
    return float(-low if lower else low)


def normal_words():
    draw = random.Random(20240608)
    edges = [0, 1, 2, WORD - 1, WORD // 2 - 1, WORD // 2, 2**48 - 1, 2**48, 2**48 + 1, WORD - 2**48, 2**62, 3 * 2**61]
    return edges + [draw.randrange(WORD) for _ in range(150)] + [draw.randrange(WORD) >> s for s in range(64)]


def main():
    with open(sys.argv[1], "w") as file:
        file.write("key0,key1,c0,c1,c2,c3,v0,v1,v2,v3\n")
        for row in philox_rows():
            file.write(",".join("%016x" % word for word in row) + "\n")
    with open(sys.argv[2], "w") as file:
        file.write("bits,deviate\n")
        for bits in normal_words():
            file.write("%016x,%s\n" % (bits, deviate(bits).hex()))


if __name__ == "__main__":
    main()
