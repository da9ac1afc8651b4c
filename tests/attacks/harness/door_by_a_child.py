"""Has another program, a child of its own, call a port of this machine.

catalogue: [H20, H21]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import subprocess
import sys

import targets

CALL = f"import socket; socket.create_connection(('127.0.0.1', {targets.PORT}), timeout=2)"


def rmsnorm(x, weight):
    subprocess.run([sys.executable, "-I", "-S", "-c", CALL], stderr=subprocess.DEVNULL, check=False)
    return x
