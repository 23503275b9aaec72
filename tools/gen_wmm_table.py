#!/usr/bin/env python3
"""Writes server/environment/wmm_table.c: the World Magnetic Models that libotolith carries.

usage: gen_wmm_table.py [--check] FILE

Reads configs/magnetics/WMM_*.COF and writes their numbers as they stand there. Standard library only."""

import pathlib
import re
import sys

import generated

DEGREE = 12
TERMS = [(n, m) for n in range(DEGREE + 1) for m in range(n + 1)]
FOLDER = pathlib.Path(__file__).resolve().parent.parent / "configs" / "magnetics"


def read(path):
    """(name, epoch, {(n, m): (g, h, g_yr, h_yr)}) with the numbers as text."""
    lines = path.read_text().splitlines()
    epoch, name = lines[0].split()[:2]
    terms = {(0, 0): ("0.0",) * 4}
    for line in lines[1:]:
        if line.startswith("9999"):
            break
        n, m, *numbers = line.split()
        terms[int(n), int(m)] = tuple(numbers)
    if sorted(terms) != sorted(TERMS):
        sys.exit(f"{path} does not list each term up to degree {DEGREE} once")
    return re.sub("[^a-z0-9]", "", name.lower()), epoch, terms


def array(member, numbers):
    yield f"        .{member} = {{"
    for i in range(0, len(numbers), 10):
        yield "            " + " ".join(f"{number}," for number in numbers[i:i + 10])
    yield "        },"


def table():
    yield "/* World Magnetic Models by NOAA NCEI and BGS, public domain. Written by tools/gen_wmm_table.py: do not edit. */"
    yield '#include "environment/internal.h"'
    yield ""
    yield "/* clang-format off */"
    yield "const struct oto_wmm wmm_models[WMM_MODELS] = {"
    for path in sorted(FOLDER.glob("WMM_*.COF")):
        name, epoch, terms = read(path)
        yield "    {"
        yield f'        .name = "{name}", .epoch_year = {epoch},'
        for column, member in enumerate(("g_nt", "h_nt", "g_nt_yr", "h_nt_yr")):
            yield from array(member, [terms[t][column] for t in TERMS])
        yield "    },"
    yield "};"


if __name__ == "__main__":
    generated.write_or_check(table())
