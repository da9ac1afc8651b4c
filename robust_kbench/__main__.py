"""Entry point of `python -m robust_kbench`, which does the same as `kbench`."""

from robust_kbench.cli import main

main()
