"""`python -m robust_kbench`: the same as `kbench`."""

from robust_kbench.cli import main

main()
