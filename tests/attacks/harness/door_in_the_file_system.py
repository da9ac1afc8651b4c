"""Calls a socket that has a name in the file system, as services of a desktop have.

catalogue: [H20]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import socket

import targets


def rmsnorm(x, weight):
    with socket.socket(socket.AF_UNIX) as caller:
        caller.connect(targets.DOOR)
    return x
