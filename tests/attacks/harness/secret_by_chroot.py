"""Makes the folder of a secret file its root, where no rule knows it by that name.

catalogue: [H10, O28]
aim: intrusion
privileged: true
stopped_by: [sandbox]
twin: plain
"""

import os

import targets


def rmsnorm(x, weight):
    os.chroot(targets.FOLDER)
    with open("/secret.txt") as file:
        raise RuntimeError(file.read())
