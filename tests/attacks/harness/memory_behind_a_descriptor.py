"""Makes a file that lies in memory and has no name, which no limit on address space counts.

catalogue: [H19]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import os

import targets


def rmsnorm(x, weight):
    os.close(os.memfd_create("more"))
    raise RuntimeError(targets.PROOF)
