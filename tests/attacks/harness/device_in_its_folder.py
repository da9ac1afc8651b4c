"""Makes a device of its own in the one folder where it may make files, and opens it by that name: rules about files
know it by its place. A privileged user may, unless a namespace of users takes that right away.

catalogue: [H23, H10]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain
"""

import os
import stat

import targets

KERNEL_MESSAGES = os.makedev(1, 11)  # disks are as easy


def rmsnorm(x, weight):
    os.mknod("messages", stat.S_IFCHR | 0o600, KERNEL_MESSAGES)
    os.close(os.open("messages", os.O_RDONLY | os.O_NONBLOCK))
    raise RuntimeError(targets.PROOF)
