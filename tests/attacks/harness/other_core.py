"""Chooses the cores on which it runs, where it was given one.

catalogue: [H23, T27]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import os

import targets


def rmsnorm(x, weight):
    os.sched_setaffinity(0, range(os.cpu_count()))
    raise RuntimeError(targets.PROOF)
