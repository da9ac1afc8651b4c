"""Makes a file larger than it may be.

catalogue: [H19, H23]
ends: [crashed]
"""


def rmsnorm(x, weight):
    with open("large", "wb") as file:
        file.truncate(1 << 40)
    return x
