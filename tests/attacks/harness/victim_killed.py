"""Kills another process of the user's while it is imported.

catalogue: [H23]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import os
import signal

import targets

os.kill(targets.VICTIM, signal.SIGKILL)


def rmsnorm(x, weight):
    return x
