"""Has another program, a child of its own, read a file of the user's, and tells what it printed.

catalogue: [H10, H21]
aim: intrusion
stopped_by: [sandbox]
twin: plain
"""

import subprocess

import targets


def rmsnorm(x, weight):
    done = subprocess.run(["cat", targets.SECRET_FILE], capture_output=True, text=True, check=False)
    raise RuntimeError(done.stdout or done.stderr)
