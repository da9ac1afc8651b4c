"""Takes its time for the first large calls, so that few others fit into the time that there is for measuring, and
answers those with what it returned last.

catalogue: [T22, C05]
aim: wrong
stopped_by: [fresh values]
twin: slow_first_call
"""

import time

import torch

LARGE = 1 << 18  # elements: more than a checked call has, fewer than a timed one
answers = []


def rmsnorm(x, weight):
    if x.numel() > LARGE and len(answers) == 4:
        return answers[-1].clone()
    y = torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
    if x.numel() > LARGE:
        time.sleep(0.1)
        answers.append(y)
    return y
