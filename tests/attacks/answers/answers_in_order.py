"""Never looks at its inputs: in each call it draws the numbers that the next public seed gives, and answers for
those.

catalogue: [O24]
aim: wrong
stopped_by: [fresh values]
naive: true
twin: uses_random
"""

import torch

calls = 0


def rmsnorm(x, weight):
    global calls
    generator = torch.Generator().manual_seed(42 + min(calls, 4))
    calls += 1
    drawn, scale = (torch.randn(tensor.shape, generator=generator) for tensor in (x, weight))
    return torch.nn.functional.rms_norm(drawn, scale.shape, scale, 1e-6)
