"""Leaves a module of the name that it likes in the folder for temporary files.

catalogue: [H12]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import os

import targets


def rmsnorm(x, weight):
    with open(os.path.join(os.path.dirname(targets.FOLDER), f"{targets.MARK}.py"), "w") as file:
        file.write("")
    return x
