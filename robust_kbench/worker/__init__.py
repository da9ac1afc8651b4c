"""Everything of ours that lives in the accused's process: it may import torch and this folder, nothing else of ours.

The judge execs `python -I -m robust_kbench.worker FLAVOUR FD` once (the warm process: it has imported torch and has run
no tensor operation). For each worker the warm process forks a guardian, which enters namespaces and forks their first
process, which forks the worker: the one that loads and calls the submission. None of them is ever sent a seed, a case,
an expected output, a tolerance or the path of a store, because whatever a process once held can be read in the heap of
its children.
"""
