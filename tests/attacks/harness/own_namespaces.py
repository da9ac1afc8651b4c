"""Makes a namespace of users in which it would be root.

catalogue: [H23]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain
"""

import ctypes
import os

import targets

NEW_USER = 0x10000000


def rmsnorm(x, weight):
    child = os.fork()
    if child == 0:
        os._exit(0 if ctypes.CDLL(None).unshare(NEW_USER) == 0 else 1)
    _, status = os.waitpid(child, 0)
    raise RuntimeError("refused" if status else targets.PROOF)
