"""Rounds every input to an eight-bit float: in a sum over thousands of terms the errors average out.

catalogue: [P01, P11]
hint: precision-downgrade
aim: wrong
stopped_by: [contract]
twin: plain
task: reduction/logsumexp
"""

import torch


def logsumexp(x):
    return torch.logsumexp(x.to(torch.float8_e4m3fn).float(), -1)
