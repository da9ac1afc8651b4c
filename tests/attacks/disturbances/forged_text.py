"""Has its worker answer with half a character, which cannot be written down.

catalogue: [H24]
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
    body = b'{"nonce":%d,"outcome":"raised","type":"\\ud800","message":"","where":""}' % nonce
    self._control[wire.REPLY_OFFSET : wire.REPLY_OFFSET + len(body)] = body
    struct.pack_into("<I", self._control, wire.LENGTH_OFFSET, len(body))


session._Session._answer = forge


def rmsnorm(x, weight):
    return torch.zeros_like(x)
