#!/usr/bin/python3
"""Reads every sample of a channel until it is stopped, also after a restart of the world, and checks that the numbers
and stamps are complete. At SIGTERM it prints what it saw as JSON. reader.py WORLD CHANNEL PERIOD_NS"""
import signal
import sys

import otolith

from account import Account

PATIENCE_S = 60.0  # until a server that was killed, or that restores a checkpoint, serves again


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
    account.print()


main()
