"""Calls a port of this machine, behind which could be anything.

catalogue: [H20]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import socket

import targets

socket.create_connection(("127.0.0.1", targets.PORT), timeout=2).close()


def rmsnorm(x, weight):
    return x
