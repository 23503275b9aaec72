"""What a reader saw of a channel, and whether its numbers and stamps are complete."""
import json

import numpy as np


class Account:
    def __init__(self, period_ns):
        self.period_ns = period_ns
        self.samples, self.lost, self.epochs, self.violations = 0, 0, set(), []
        self.wanted, self.lineage = None, None

    def note(self, sentence):
        if len(self.violations) < 20:
            self.violations.append(sentence)

    def take(self, samples, lost, source):
        """`lost`: what the reader reports as lost before the last of these samples; `source` has epoch and lineage."""
        if len(samples) == 0:
            return
        self.epochs.add(source.epoch)
        if source.lineage != self.lineage:  # not the continuation of the records before
            self.wanted, self.lineage = None, source.lineage
        seq = samples["seq"].astype(np.int64)
        skipped = int((np.diff(seq) - 1).sum()) + (int(seq[0]) - self.wanted if self.wanted is not None else 0)
        first = self.wanted is None
        if (np.diff(seq) < 1).any() or (not first and seq[0] < self.wanted):
            self.note(f"seq goes back about {int(seq[0])}")
        elif not first and skipped != lost:
            self.note(f"{skipped} samples are missing before seq {int(seq[-1])}, and {lost} were reported as lost")
        if (np.abs(np.diff(samples["t_ns"]) - np.diff(seq) * self.period_ns) > 1).any():
            self.note(f"t_ns and seq do not agree about seq {int(seq[0])}")
        self.samples += len(samples)
        self.lost += lost
        self.wanted = int(seq[-1]) + 1

    def print(self):
        print(json.dumps({"samples": self.samples, "lost": self.lost, "epochs": len(self.epochs),
                          "violations": self.violations}))
