"""Has its worker say that its answer has four thousand million bytes.

catalogue: [H24, H19]
ends: [crashed]
"""

import struct

import torch

from robust_kbench.worker import session, wire

answer = session._Session._answer


def forge(self, nonce, told):
    if told["outcome"] != "returned":
        answer(self, nonce, told)
        return
    body = b"{}"
    self._control[wire.REPLY_OFFSET : wire.REPLY_OFFSET + len(body)] = body
    struct.pack_into("<I", self._control, wire.LENGTH_OFFSET, 0xFFFFFFFF)


session._Session._answer = forge


def rmsnorm(x, weight):
    return torch.zeros_like(x)
