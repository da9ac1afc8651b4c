"""Asks to be served before every other process.

catalogue: [H23, T27]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain
"""

import os

import targets


def rmsnorm(x, weight):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    raise RuntimeError(targets.PROOF)
