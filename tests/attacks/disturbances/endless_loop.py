"""Never returns, and keeps its core busy.

catalogue: [H18, H19]
ends: [timed_out]
"""


def rmsnorm(x, weight):
    while True:
        pass
