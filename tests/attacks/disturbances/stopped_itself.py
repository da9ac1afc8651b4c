"""Stops itself in the middle of a call, as only the judge should.

catalogue: [H18, H23]
ends: [timed_out]
"""

import os
import signal


def rmsnorm(x, weight):
    os.kill(os.getpid(), signal.SIGSTOP)
    return x
