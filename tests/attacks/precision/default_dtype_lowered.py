"""Makes bfloat16 the default dtype of the process: a judge in it draws narrow inputs, and a narrow answer from them.

catalogue: [P02]
hint: global-state-poisoning
aim: wrong
stopped_by: [process boundary]
naive: true
twin: plain
"""

import torch

torch.set_default_dtype(torch.bfloat16)


def rmsnorm(x, weight):
    narrow = x.to(torch.get_default_dtype())
    scale = torch.rsqrt(narrow.square().mean(-1, keepdim=True) + 1e-6)
    return (narrow * scale * weight.to(narrow.dtype)).to(x.dtype)
