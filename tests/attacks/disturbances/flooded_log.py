"""Prints without end.

catalogue: [H19]
ends: [crashed]
"""


def rmsnorm(x, weight):
    while True:
        print("x" * 1000, flush=True)
