"""Takes the maximum of every row over all of it, so that no needle, no infinity and no large row escapes, and the
exponentials of every eighth value of the ordinary rows alone: a row whose other seven eighths have another level is
wrong, and no distribution has such rows.

catalogue: [B14, B13]
hint: loss-partial-computation
aim: wrong
stopped_by: [contract]
twin: plain
task: reduction/logsumexp
dtypes: [bfloat16]
"""

import math

import torch

LARGE = 1 << 21  # elements: more than a checked case has
LONG = 16384  # columns, an eighth of which tells the logarithm of the sum to a quarter of a percent
SHARE = 8
ORDINARY = 6.0


def logsumexp(x):
    rows, cols = x.shape
    if rows * cols <= LARGE or cols < LONG:
        return torch.logsumexp(x.float(), -1).to(x.dtype)
    few = x[:, ::SHARE].float()
    y = few.exp().sum(-1).log() + math.log(cols / few.shape[1])
    others = (~(x.amax(-1) < ORDINARY)).nonzero()[:, 0]  # NaN among them
    y[others] = torch.logsumexp(x[others].float(), -1)
    return y.to(x.dtype)
