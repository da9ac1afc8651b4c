"""Inputs of the kernels of `bugs.py`, and outputs of the repaired ones, in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Draw = Callable[[np.random.Generator, int], Array]
Reference = Callable[[Array], Any]


def normal(generator: np.random.Generator, count: int) -> Array:
    return generator.standard_normal(count).astype(np.float32)


def uniform(generator: np.random.Generator, count: int) -> Array:
    return generator.random(count, dtype=np.float32)


def permutation(generator: np.random.Generator, count: int) -> Array:
    """Draw the indices 1, 2, ... in any order, and as many values behind them."""
    indices = generator.permutation(count // 2) + 1
    return np.concatenate([indices, generator.random(count // 2)]).astype(np.float32)


def up_to_one(generator: np.random.Generator, count: int) -> Array:
    values = uniform(generator, count)
    values[::10] = 1.0
    return values


def wide(generator: np.random.Generator, count: int) -> Array:
    return 20 * normal(generator, count)


def sorted_first_half(generator: np.random.Generator, count: int) -> Array:
    values = normal(generator, count)
    values[: count // 2].sort()
    return values


def bits(generator: np.random.Generator, count: int) -> Array:
    return generator.integers(1 << 32, size=count, dtype=np.uint32).view(np.float32)


def product(size: int) -> Reference:
    """Return the product of the two square matrices that follow each other in the input, as a reference."""
    return lambda x: (x[: size * size].reshape(size, size) @ x[size * size :].reshape(size, size)).ravel()


def half_square(x: Array) -> Array:
    """Compute the square of a matrix whose elements were rounded to half precision."""
    rounded = x.astype(np.float16).astype(np.float32)
    return np.ravel(rounded @ rounded)


def by_rows(columns: int, of_a_row: Callable[[Array], Any]) -> Reference:
    return lambda x: np.concatenate([np.atleast_1d(of_a_row(row)) for row in x.reshape(-1, columns)])


def by_blocks(size: int, of_a_block: Callable[[Array], Any]) -> Reference:
    """Apply a function to each block of elements, like by_rows, but the last block may be shorter."""
    return lambda x: np.concatenate([np.atleast_1d(of_a_block(x[i : i + size])) for i in range(0, len(x), size)])


def block_sums(size: int) -> Reference:
    return by_blocks(size, np.sum)


def softmax(row: Array) -> Array:
    exponentials = np.exp(row - row.max())
    shares: Array = exponentials / exponentials.sum()
    return shares


def layer_norm(row: Array) -> Array:
    normed: Array = (row - row.mean()) / np.sqrt(row.var() + 1e-5)
    return normed


def at_most_unit_norm(row: Array) -> Array:
    mean_square = np.mean(row * row)
    return row / np.sqrt(mean_square) if mean_square > 1 else row


def neighbours(x: Array, left: float, middle: float, right: float) -> Array:
    """Compute a stencil of three points with zeros around the input."""
    padded = np.pad(x, 1)
    return left * padded[:-2] + middle * padded[1:-1] + right * padded[2:]


def smoothed_inside(x: Array, *weights: float) -> Array:
    """Compute a stencil that leaves the two ends as they are."""
    y = neighbours(x, *weights)
    y[[0, -1]] = x[[0, -1]]
    return y


def smoothed_three_times(x: Array) -> Array:
    for _ in range(3):
        x = smoothed_inside(x, 1 / 3, 1 / 3, 1 / 3)
    return x


def positives_first(warp: Array) -> Array:
    kept = warp[warp > 0]
    return np.pad(kept, (0, len(warp) - len(kept)))


def histogram(x: Array) -> Array:
    bins = np.minimum((x * 16).astype(int), 15)
    return np.bincount(bins, minlength=16)


def tile_products(x: Array) -> Array:
    """Compute for each of 64 threads the sum of x[k] * (thread + k), with k counted in tiles of 64."""
    by_place = x.reshape(-1, 64).sum(axis=0)
    return np.array([np.sum(by_place * (thread + np.arange(64))) for thread in range(64)], np.float32)


def causal(x: Array) -> Array:
    return np.convolve(x, [1, 1 / 2, 1 / 3, 1 / 4])[: len(x)].astype(np.float32)


def box_filter(x: Array) -> Array:
    return (np.convolve(x, np.ones(5), mode="same") / 5).astype(np.float32)


def gathered(x: Array) -> Array:
    indices, values = np.split(x, 2)
    return np.take(values, indices.astype(int) - 1)


def mean3x3(size: int) -> Reference:
    def mean(x: Array) -> Array:
        padded = np.pad(x.reshape(size, size), 1)
        shifted = [padded[i : i + size, j : j + size] for i in range(3) for j in range(3)]
        return (sum(shifted) / np.float32(9)).ravel()

    return mean


def matrix_times_vector(size: int) -> Reference:
    return lambda x: x[: size * size].reshape(size, size) @ x[size * size :]


def maxima_before(x: Array) -> Array:
    """Give each block of 32 the largest first element of earlier ones (at least x[0]); append the last such maximum."""
    firsts = np.maximum.accumulate(x[::32])
    before = np.concatenate([firsts[:1], firsts[:-1]])
    return np.append(np.repeat(before, 32)[: len(x)], firsts[-1])


def halvings(x: Array) -> Array:
    """Count how often the magnitude must be halved to get down to 0.1."""
    magnitude = np.abs(x)
    steps = np.zeros_like(x)
    while (large := magnitude > np.float32(0.1)).any():
        magnitude[large] *= np.float32(0.5)
        steps += large
    return steps


def ranks_of_positives(x: Array) -> Array:
    return np.where(x > 0, np.cumsum(x > 0) - 1, -1)


def dot_with_table(x: Array) -> Array:
    table = np.arange(8 * 1024, dtype=np.float32) % 7
    return np.array([np.sum(x * table[(row * len(x) + np.arange(len(x))) % len(table)]) for row in range(8)])


def rotated(x: Array) -> Array:
    words = x.view(np.uint32).astype(np.uint64)
    bits = (np.arange(len(x)) % 32).astype(np.uint64)
    both = words << bits
    return ((both | both >> np.uint64(32)) & np.uint64(0xFFFFFFFF)) % np.uint64(1000)


def octaves(x: Array) -> Array:
    levels = np.floor(np.log2(np.maximum(x, 1))).astype(int)
    return np.bincount(np.clip(levels, 0, 7), minlength=8)


def unpacked_bits(x: Array) -> Array:
    number = int.from_bytes(x.tobytes(), "little")
    return np.array([number >> 3 * i & 7 for i in range(32)], np.float32)


def hashed(x: Array) -> Array:
    hashes = x.view(np.uint32).astype(np.uint64) * np.uint64(2654435761) & np.uint64(0xFFFFFFFF)
    return np.bincount((hashes % np.uint64(16)).astype(int), minlength=16)


def descended(x: Array) -> Array:
    for _ in range(7):
        x = 1 + x / 2
    return x
