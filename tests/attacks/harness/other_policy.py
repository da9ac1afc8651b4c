"""Asks to be scheduled as a batch job, in longer turns, which needs no privilege.

catalogue: [H23, T27]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import os

import targets


def rmsnorm(x, weight):
    os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    raise RuntimeError(targets.PROOF)
