"""Shares of a CUDA device's free memory, for what an evaluation does there at the same time. They add up to one."""

CHECKS, SEARCH = 0.2, 0.1
COMPILING_AHEAD = 0.2
"""For calls of the submission that compile what is timed later. Only some languages need them."""
OPENING_BESIDE_MANY, OPENING_BESIDE_FEW = 0.4, 0.6
"""For workers that open for the timing: beside others that compile ahead, and where there are none."""
PREPARING = 0.1
"""For calls of baselines before the timing."""
