"""Allows itself to dump its memory into files when it crashes.

catalogue: [H19, H23]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import resource

import targets


def rmsnorm(x, weight):
    resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    raise RuntimeError(targets.PROOF)
