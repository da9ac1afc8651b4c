"""Opens a socket to the kernel's network configuration.

catalogue: [H20]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import socket

import targets


def rmsnorm(x, weight):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as kernel:
        kernel.bind((0, 0))
    raise RuntimeError(targets.PROOF)
