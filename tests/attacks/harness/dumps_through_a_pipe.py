"""Limits dumps of its memory to zero bytes. Where the kernel hands them to a program, as most distributions have it,
that limit allows them: only one of exactly one byte forbids them. The program runs outside of every namespace, with all
rights and on any core, and keeps what it is given on the disk.

catalogue: [H19, H23]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import resource

import targets


def rmsnorm(x, weight):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    raise RuntimeError(targets.PROOF)
