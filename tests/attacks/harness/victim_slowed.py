"""Lowers the priority of another process of the user's, as one would slow a baseline.

catalogue: [H23, T26]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain
"""

import os

import targets


def rmsnorm(x, weight):
    os.setpriority(os.PRIO_PROCESS, targets.VICTIM, 5)
    raise RuntimeError(targets.PROOF)
