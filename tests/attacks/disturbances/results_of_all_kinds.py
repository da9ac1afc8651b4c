"""Returns something else in every call: nothing, a text, a thousand tensors, a sparse one, one without memory.

catalogue: [H18, O20]
ends: [incorrect, crashed]
"""

import torch

calls = 0


def rmsnorm(x, weight):
    global calls
    calls += 1
    kinds = (
        lambda: None,
        lambda: "passed",
        lambda: [x] * 1000,
        lambda: x.to_sparse(),
        lambda: torch.empty(x.shape, device="meta"),
        lambda: torch.zeros(0),
        lambda: (),
        lambda: {"y": x},
    )
    return kinds[calls % len(kinds)]()
