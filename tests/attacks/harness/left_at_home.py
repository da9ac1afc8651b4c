"""Leaves a file in the user's home, where start-up files of his tools lie.

catalogue: [H11, H12]
aim: intrusion
stopped_by: [sandbox]
privileged: true
twin: plain
"""

import os
import pwd

import targets


def rmsnorm(x, weight):
    with open(os.path.join(pwd.getpwuid(os.getuid()).pw_dir, f"{targets.MARK}.pth"), "w") as file:
        file.write("")
    return x
