"""Never returns, and does nothing.

catalogue: [H18, H19]
ends: [timed_out]
"""

import time


def rmsnorm(x, weight):
    time.sleep(3600)
    return x
