"""Opens files until it may open no more.

catalogue: [H19]
ends: [crashed]
"""

import os


def rmsnorm(x, weight):
    while True:
        os.open("/dev/null", os.O_RDONLY)
