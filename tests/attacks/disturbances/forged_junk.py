"""Has its worker answer with random bytes.

catalogue: [H24]
ends: [crashed]
"""

import os
import struct

import torch

from robust_kbench.worker import session, wire

answer = session._Session._answer


def forge(self, nonce, told):
    if told["outcome"] != "returned":
        answer(self, nonce, told)
        return
    body = os.urandom(5000)
    self._control[wire.REPLY_OFFSET : wire.REPLY_OFFSET + len(body)] = body
    struct.pack_into("<I", self._control, wire.LENGTH_OFFSET, len(body))


session._Session._answer = forge


def rmsnorm(x, weight):
    return torch.zeros_like(x)
