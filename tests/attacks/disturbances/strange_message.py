"""Raises an exception of a strange name, whose text cannot be written down.

catalogue: [H18, H24]
ends: [crashed]
"""


def rmsnorm(x, weight):
    raise type("<b>\n" * 100, (Exception,), {})("\ud800\0\x1b[2J" * 1000)
