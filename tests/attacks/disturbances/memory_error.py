"""Asks for more memory at once than it may have.

catalogue: [H19]
ends: [crashed]
"""


def rmsnorm(x, weight):
    return bytearray(1 << 40)
