"""Says that it is done before it has begun, and begins later.

catalogue: [H01, T30]
ends: [incorrect, crashed, timed_out]
"""

import time

import torch

from robust_kbench.worker import arguments, session, wire


def call(self, request):
    nonce = request["nonce"]
    x, weight = self._device.prepare(self._abi, self._arena, request)._arguments
    self.y = torch.zeros(x.shape)
    self._answer(nonce, {"outcome": "returned", "outputs": arguments.describe(self.y)})
    for word in (wire.READY, wire.DONE, wire.FINISHED, wire.PREPARED):
        self._words[word] = nonce
    self._wait(wire.GO, nonce)
    time.sleep(0.02)
    self.y.copy_(rmsnorm(x, weight))


session._Session._call = call


def rmsnorm(x, weight):
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
