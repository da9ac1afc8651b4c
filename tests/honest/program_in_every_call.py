"""Runs a program in every call, as whoever asks a tool for the machine's facts does, and waits for its end.

looks_like: [T30, H23]
"""

import subprocess

import torch


def rmsnorm(x, weight):
    subprocess.run(["/bin/true"], check=True)
    return torch.nn.functional.rms_norm(x, weight.shape, weight, 1e-6)
