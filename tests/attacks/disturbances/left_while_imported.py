"""Ends its process while it is imported.

catalogue: [H18]
ends: [crashed]
"""

import os

os._exit(0)


def rmsnorm(x, weight):
    return x
