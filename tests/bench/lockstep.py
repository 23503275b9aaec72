"""Plays physics in Python and prints ticks a second: one line for each of BLOCKS blocks of TICKS. For otolith-bench."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "clients", "python"))
import otolith  # noqa: E402

ticks, blocks = int(sys.argv[1]), int(sys.argv[2])
with otolith.Participant("physics", "demo") as car:
    for _ in range(blocks):
        start = time.perf_counter()
        for _ in range(ticks):
            x_m = 1e-8 * car.wait().until_ns
            car.set((x_m, 0, 0), (10, 0, 0), (1, 0, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0))
            car.done()
        print(ticks / (time.perf_counter() - start), flush=True)
