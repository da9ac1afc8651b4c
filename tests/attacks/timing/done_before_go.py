"""Leaves the word that stops the clock lying there before the clock is started, since the call's number is known by
then: whatever it computes, no time passes.

catalogue: [T24, T16]
aim: time
stopped_by: [clocks, floor]
twin: plain
"""

import torch

from robust_kbench.worker import session, wire

signal = session._Session._signal


def early(self, word, nonce):
    if word == wire.READY:
        self._words[wire.DONE] = nonce
    signal(self, word, nonce)


session._Session._signal = early


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
