#!/usr/bin/python3
"""Subscribes to a channel over nng until it is stopped, whatever becomes of the publisher, and checks that every sample came
or was reported as lost. At SIGTERM it prints what it saw as JSON. subscriber.py URL TOPIC PERIOD_NS"""
import collections
import signal
import sys

import numpy as np

import otolith

from account import Account

Source = collections.namedtuple("Source", "epoch lineage")


def main():
    url, topic, period_ns = sys.argv[1], sys.argv[2], int(sys.argv[3])
    asked = []
    signal.signal(signal.SIGTERM, lambda *_: asked.append(1))
    account = Account(period_ns)
    with otolith.Subscriber(url, topic) as subscriber:
        while not asked:
            try:
                sample = subscriber.next(0.2)
            except otolith.Timeout:
                continue
            account.take(np.atleast_1d(sample.data), sample.lost, Source(sample.epoch, sample.epoch))
        if subscriber.corrupt:
            account.note(f"{subscriber.corrupt} frames could not be decoded")
    account.print()


main()
