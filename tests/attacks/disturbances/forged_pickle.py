"""Has its worker answer with a pickled object, which would run a function of its choice where it is read.

catalogue: [H24]
ends: [crashed]
"""

import pickle
import struct

import torch

from robust_kbench.worker import session, wire

answer = session._Session._answer


def forge(self, nonce, told):
    if told["outcome"] != "returned":
        answer(self, nonce, told)
        return
    body = pickle.dumps(print)
    self._control[wire.REPLY_OFFSET : wire.REPLY_OFFSET + len(body)] = body
    struct.pack_into("<I", self._control, wire.LENGTH_OFFSET, len(body))


session._Session._answer = forge


def rmsnorm(x, weight):
    return torch.zeros_like(x)
