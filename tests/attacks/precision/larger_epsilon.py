"""Adds a thousandth under the root where a hundred-thousandth is asked for.

catalogue: [P07]
aim: wrong
stopped_by: [contract]
twin: two_pass_layernorm
task: norm/layernorm
"""

import torch


def layernorm(x, weight, bias):
    return torch.nn.functional.layer_norm(x, weight.shape, weight, bias, 1e-3)
