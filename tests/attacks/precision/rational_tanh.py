"""Replaces the hyperbolic tangent by a quotient of polynomials that is good near zero, and clamps the rest.

catalogue: [P07]
aim: wrong
stopped_by: [contract]
twin: plain
task: activation/tanh
"""


def tanh(x):
    square = x * x
    upper = x * (135135 + square * (17325 + square * (378 + square)))
    lower = 135135 + square * (62370 + square * (3150 + square * 28))
    return (upper / lower).clamp(-1, 1)
