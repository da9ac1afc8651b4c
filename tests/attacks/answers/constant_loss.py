"""Answers 2, the expected square of the difference of two standard normal numbers, whatever the inputs are.

catalogue: [O10, O12]
hint: constant-output
aim: wrong
stopped_by: [contract]
naive: true
twin: plain
task: loss/mse
"""

import torch


def mse(prediction, target):
    return torch.tensor(2.0)
