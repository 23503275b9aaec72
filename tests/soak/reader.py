#!/usr/bin/python3
"""Reads every sample of a channel until it is stopped, also after a restart of the world, and checks that the numbers
and stamps are complete. At SIGTERM it prints what it saw as JSON. reader.py WORLD CHANNEL PERIOD_NS"""
import json
import signal
import sys

import numpy as np

import otolith

PATIENCE_S = 60.0  # until a server that was killed, or told to restore, is back


class Account:
    def __init__(self, period_ns):
        self.period_ns = period_ns
        self.samples, self.lost, self.epochs, self.violations = 0, 0, set(), []
        self.wanted, self.lineage = None, None

    def note(self, sentence):
        if len(self.violations) < 20:
            self.violations.append(sentence)

    def take(self, samples, lost, reader):
        """`lost`: what the reader says it has lost just now."""
        if len(samples) == 0:
            return
        self.epochs.add(reader.epoch)
        if reader.lineage != self.lineage:  # not the continuation of what was read before
            self.wanted, self.lineage = None, reader.lineage
        seq = samples["seq"].astype(np.int64)
        skipped = int((np.diff(seq) - 1).sum()) + (int(seq[0]) - self.wanted if self.wanted is not None else 0)
        first = self.wanted is None
        if (np.diff(seq) < 1).any() or (not first and seq[0] < self.wanted):
            self.note(f"seq goes back about {int(seq[0])}")
        elif not first and skipped != lost:
            self.note(f"{skipped} samples are missing before seq {int(seq[-1])}, and {lost} were told as lost")
        if (np.abs(np.diff(samples["t_ns"]) - np.diff(seq) * self.period_ns) > 1).any():
            self.note(f"t_ns and seq do not agree about seq {int(seq[0])}")
        self.samples += len(samples)
        self.lost += lost
        self.wanted = int(seq[-1]) + 1


def read(world, reader, account, running):
    told, tick = reader.lost, 0
    while running():
        samples = reader.read()
        account.take(samples, reader.lost - told, reader)
        told = reader.lost
        try:
            tick = world.wait_tick(tick, 0.2).tick if len(samples) == 0 else tick
        except otolith.Timeout:
            pass


def main():
    name, channel, period_ns = sys.argv[1], sys.argv[2], int(sys.argv[3])
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
    account = Account(period_ns)
    with otolith.World(name, name="reader", follow_s=PATIENCE_S) as world, world.lossless(channel) as (reader,):
        read(world, reader, account, lambda: not asked)
    print(json.dumps({"samples": account.samples, "lost": account.lost, "epochs": len(account.epochs),
                      "violations": account.violations}))


main()
