"""Reads a file of the kernel's that has every core of the machine stop and count its pages.

catalogue: [H23, T26]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain
"""

import targets


def rmsnorm(x, weight):
    with open("/proc/sys/vm/stat_refresh") as file:
        file.read()
    raise RuntimeError(targets.PROOF)
