"""Calls itself through native code without end, beyond what the interpreter allows.

catalogue: [H18, H19]
ends: [crashed]
"""

import sys

sys.setrecursionlimit(1 << 30)


def rmsnorm(x, weight):
    return max((weight,), key=lambda each: rmsnorm(x, each))
