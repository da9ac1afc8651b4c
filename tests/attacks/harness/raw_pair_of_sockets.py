"""Asks for a pair of raw local sockets, which the kernel makes sockets for datagrams of, and writes from one of them to
a socket outside that has a name. That it is of another kind is what only somebody learns who has reached it.

catalogue: [H20, H23]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import errno
import socket

import targets


def rmsnorm(x, weight):
    one, _other = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    try:
        one.sendto(b"!", targets.DOOR)
    except OSError as error:
        if error.errno != errno.EPROTOTYPE:
            raise
    raise RuntimeError(targets.PROOF)
