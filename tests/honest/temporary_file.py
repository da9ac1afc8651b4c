"""Writes how it will cut each shape into a temporary file in the first call of it, and reads that back.

looks_like: [C08, H12]
"""

import json
import tempfile

import torch

plans = {}


def plan(shape):
    with tempfile.NamedTemporaryFile("w+") as file:
        json.dump({"rows": max(1, 65536 // max(1, shape[1]))}, file)
        file.seek(0)
        return json.load(file)["rows"]


def rmsnorm(x, weight):
    if x.shape not in plans:
        plans[x.shape] = plan(x.shape)
    parts = x.split(plans[x.shape])
    return torch.cat([torch.nn.functional.rms_norm(part, weight.shape, weight, 1e-6) for part in parts])
