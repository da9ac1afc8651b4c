"""Raises an exception whose text is another exception.

catalogue: [H18]
ends: [crashed]
"""


class Refusal(Exception):
    def __str__(self):
        raise self


def rmsnorm(x, weight):
    raise Refusal
