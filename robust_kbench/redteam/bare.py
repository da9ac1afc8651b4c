"""A worker and a builder without any sandbox: what is left of them when all its layers are off.

`python -I -m robust_kbench.redteam.bare worker …` and `… builder …`, with the arguments of the real ones.
"""

import os
import sys


def main() -> None:
    """Become the one that is asked for."""
    role = sys.argv.pop(1)
    if role == "builder":
        command = sys.argv[sys.argv.index("--") + 1 :]
        os.execvp(command[0], command)
    from robust_kbench.worker import __main__, sandbox

    sandbox.enter_namespaces = list
    sandbox.mount_own_proc = list
    sandbox.restrict = lambda limits, layers: layers
    __main__.main()


if __name__ == "__main__":
    main()
