"""Leaves a module in the folder in which the judge runs, where Python might look first.

catalogue: [H12]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import os

import targets


def rmsnorm(x, weight):
    with open(f"{os.readlink(f'/proc/{targets.JUDGE}/cwd')}/{targets.MARK}.py", "w") as file:
        file.write("")
    return x
