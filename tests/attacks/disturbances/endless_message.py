"""Raises an exception with ten million characters.

catalogue: [H18, H19]
ends: [crashed]
"""


def rmsnorm(x, weight):
    raise ValueError("x" * 10_000_000)
