"""Kernels with one injected bug each, and the results of the repaired ones.

`bugs/<class>/<name>.cu` holds both forms, chosen by the macro BUG. Every file has the same entry point,
`run(const float* x, float* y, int64_t n, cudaStream_t stream)`. The lines at which the checker may point carry the
comment `// finding: <kind>`: where two accesses race, either end is right.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import bug_references as ref
import numpy as np

FOLDER = Path(__file__).parent / "bugs"

_MARK = re.compile(r"// finding: (\w+)$")


@dataclass(frozen=True)
class Bug:
    """A file of a kernel: its name below the folder, the size of its tensors, and the start of `y` as it should be."""

    name: str
    n: int
    inputs: int
    outputs: int
    expected: ref.Reference
    draw: ref.Draw = ref.normal

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.cu"

    def input(self) -> ref.Array:
        """Draw the input: the same numbers in every run."""
        return self.draw(np.random.default_rng(7), self.inputs)

    def marks(self) -> tuple[str, frozenset[int]]:
        """Return the finding's kind and the lines at which it may be. Raises ValueError unless one kind is marked."""
        lines = enumerate(self.path.read_text().splitlines(), 1)
        found = [(number, match[1]) for number, line in lines if (match := _MARK.search(line))]
        kinds = {kind for _, kind in found}
        if len(kinds) != 1:
            raise ValueError(f"{self.path} marks {sorted(kinds)}; it should mark one kind")
        return kinds.pop(), frozenset(number for number, _ in found)


ALL = (
    # missing_barrier
    Bug("missing_barrier/tile_load", 32, 2 * 32**2, 32**2, ref.product(32)),
    Bug("missing_barrier/tile_reuse", 19, 2 * 19**2, 19**2, ref.product(19)),
    Bug("missing_barrier/reduction_tree", 300, 300, 3, ref.block_sums(128)),
    Bug("missing_barrier/block_reduce_twice", 200, 600, 3, ref.by_rows(200, np.var)),
    Bug("missing_barrier/reused_buffer", 100, 200, 200, ref.by_rows(100, ref.softmax)),
    Bug("missing_barrier/scan", 200, 200, 200, np.cumsum),
    Bug("missing_barrier/transpose", 64, 64**2, 64**2, lambda x: x.reshape(64, 64).T.ravel()),
    Bug("missing_barrier/broadcast", 200, 400, 400, ref.by_rows(200, lambda row: row / (1 + abs(row[0])))),
    Bug("missing_barrier/double_buffer", 256, 256, 64, ref.tile_products),
    Bug("missing_barrier/stencil_in_place", 64, 64, 64, ref.smoothed_three_times),
    Bug("missing_barrier/zeroed_total", 200, 400, 2, ref.block_sums(200)),
    Bug("missing_barrier/named_barrier", 32, 32, 32, np.flip),
    Bug("missing_barrier/vector_store", 256, 256, 256, np.flip),
    Bug("missing_barrier/byte_flags", 100, 100, 100, lambda x: np.append(1, np.diff(x > 0))),
    Bug("missing_barrier/tensor_core_tile", 16, 256, 256, lambda x: ref.half_square(x.reshape(16, 16))),
    Bug("missing_barrier/temporary_storage", 128, 128, 2, lambda x: [np.sum(x), np.sum(x * x)]),
    # warp_synchronous
    Bug("warp_synchronous/volatile_reduction", 256, 256, 2, ref.block_sums(128)),
    Bug("warp_synchronous/shuffle_as_barrier", 128, 128, 128, ref.by_rows(32, lambda warp: warp[::-1] * warp.sum())),
    Bug("warp_synchronous/ballot_as_barrier", 96, 96, 96, ref.by_rows(32, ref.positives_first)),
    Bug("warp_synchronous/lockstep_exchange", 200, 200, 200, ref.by_rows(2, lambda pair: pair[::-1])),
    Bug("warp_synchronous/partial_syncwarp", 64, 64, 64, ref.by_rows(32, lambda warp: warp[::-1])),
    Bug("warp_synchronous/narrow_tile", 64, 64, 64, ref.by_rows(8, lambda group: group[::-1])),
    # cross_block
    Bug("cross_block/accumulate", 300, 300, 1, np.sum),
    Bug("cross_block/same_output", 100, 100, 100, lambda x: ref.neighbours(x, 0.25, 0.5, 0.25)),
    Bug("cross_block/neighbour_output", 100, 100, 200, lambda x: x**2 + np.roll(x, -1) ** 2),
    Bug("cross_block/grid_barrier", 100, 100, 101, lambda x: x - x.mean()),
    Bug("cross_block/last_block", 128, 128, 5, np.sum),
    Bug("cross_block/check_then_set", 100, 100, 1, lambda x: np.abs(x).max()),
    Bug("cross_block/split_k", 11, 2 * 11**2, 11**2, ref.product(11)),
    Bug("cross_block/warp_leaders", 300, 600, 2, ref.block_sums(300)),
    Bug("cross_block/staged_in_global", 192, 192, 384, ref.by_rows(96, lambda block: 2 * block[::-1])),
    Bug("cross_block/stencil_in_place", 100, 100, 100, lambda x: ref.smoothed_inside(x, 0.25, 0.5, 0.25)),
    Bug("cross_block/total_in_one_launch", 100, 100, 101, lambda x: x / np.abs(x).sum()),
    Bug("cross_block/chained_scan", 128, 128, 4, lambda x: np.cumsum(ref.block_sums(32)(x))),
    Bug("cross_block/announced_too_early", 64, 6 * 64, 4 * 64, lambda x: x.reshape(6, 64).sum(axis=0)),
    Bug("cross_block/narrow_fence", 20, 80, 5, np.sum),
    Bug("cross_block/volatile_flag", 1, 1, 2, lambda x: 3 * x),
    # histogram
    Bug("histogram/shared_counts", 300, 300, 16, ref.histogram, ref.uniform),
    Bug("histogram/global_counts", 300, 300, 16, ref.histogram, ref.uniform),
    Bug("histogram/zeroing", 300, 300, 16, ref.histogram, ref.uniform),
    Bug("histogram/merge", 300, 300, 16, ref.histogram, ref.uniform),
    # global_bounds
    Bug("global_bounds/one_too_many_reads", 100, 100, 100, np.diff),
    Bug("global_bounds/one_too_many_writes", 100, 1, 100, lambda x: 1 / (1 + np.arange(100))),
    Bug("global_bounds/negative_index", 100, 100, 100, ref.causal),
    Bug("global_bounds/no_guard", 100, 100, 100, np.square),
    Bug("global_bounds/float4_tail", 203, 203, 203, np.negative),
    Bug("global_bounds/wrong_stride", 33, 40 * 33, 40, ref.block_sums(33)),
    Bug("global_bounds/halo_read", 100, 100, 100, ref.box_filter),
    Bug("global_bounds/index_from_one", 100, 200, 100, ref.gathered, ref.permutation),
    Bug("global_bounds/read_only_cache", 101, 101, 51, ref.block_sums(2)),
    Bug("global_bounds/last_bin", 100, 100, 16, ref.histogram, ref.up_to_one),
    Bug("global_bounds/missing_border_test", 13, 13**2, 13**2, ref.mean3x3(13)),
    Bug("global_bounds/unrolled_tail", 300, 300, 1, np.sum),
    Bug("global_bounds/transposed_output", 37, 5 * 37, 5 * 37, lambda x: x.reshape(5, 37).T.ravel()),
    # shared_bounds
    Bug("shared_bounds/bytes_not_elements", 64, 64, 64, np.flip),
    Bug("shared_bounds/second_part", 40, 80, 80, ref.by_rows(40, ref.softmax)),
    Bug("shared_bounds/halo_cells", 64, 64, 64, lambda x: ref.neighbours(x, 1, 0, 1)),
    Bug("shared_bounds/neighbouring_array", 288, 288, 2, lambda x: [x.sum(), x.max()]),
    Bug("shared_bounds/before_the_first", 200, 200, 200, ref.by_blocks(128, lambda x: np.diff(x, prepend=0))),
    Bug("shared_bounds/tile_of_wrong_shape", 256, 256, 256, lambda x: x.reshape(8, 32).T.ravel()),
    # uninitialised_shared
    Bug("uninitialised_shared/tile_tail", 13, 13**2 + 13, 13, ref.matrix_times_vector(13)),
    Bug("uninitialised_shared/warp_slots", 256, 256, 2, ref.block_sums(128)),
    Bug("uninitialised_shared/halo_cells", 50, 50, 50, lambda x: ref.neighbours(x, 1, 0, 1)),
    Bug("uninitialised_shared/accumulator", 100, 200, 2, ref.block_sums(100)),
    Bug("uninitialised_shared/untaken_branch", 24, 8 * 24, 8 * 24, ref.by_rows(24, ref.at_most_unit_norm)),
    Bug("uninitialised_shared/early_return", 100, 100, 2, ref.block_sums(64)),
    Bug("uninitialised_shared/copy_not_awaited", 64, 64, 64, np.flip),
    # uninitialised_global
    Bug("uninitialised_global/output_as_accumulator", 100, 100, 1, np.sum),
    Bug("uninitialised_global/short_memset", 96, 96, 16, lambda x: x.reshape(-1, 16).sum(axis=0)),
    Bug("uninitialised_global/scratch", 100, 100, 1, np.sum),
    Bug("uninitialised_global/read_back", 101, 101, 101, lambda x: np.maximum(x, 0) + 1),
    Bug("uninitialised_global/beta_of_zero", 8, 128, 64, ref.product(8)),
    Bug("uninitialised_global/part_of_a_copy", 100, 100, 100, lambda x: x / 2),
    # alignment
    Bug("alignment/skipped_header", 64, 65, 16, lambda x: ref.by_rows(4, np.linalg.norm)(x[1:])),
    Bug("alignment/odd_rows", 5, 100, 20, lambda x: x[::5] * x[1::5]),
    Bug(
        "alignment/padded_half_tile",
        512,
        512,
        256,
        lambda x: ref.block_sums(2)(x.astype(np.float16).astype(np.float32)),
    ),
    Bug("alignment/after_a_counter", 64, 64, 64, lambda x: x.reshape(-1, 4)[::-1].ravel()),
    Bug("alignment/wide_atomic", 100, 100, 1, lambda x: np.sum(x > 0)),
    Bug("alignment/tensor_core_padding", 16, 256, 256, lambda x: ref.half_square(x.reshape(16, 16))),
    # divergent_barrier
    Bug("divergent_barrier/inside_a_guard", 100, 100, 100, ref.by_blocks(64, lambda block: block + block[0])),
    Bug("divergent_barrier/trip_counts", 80, 80, 81, ref.maxima_before),
    Bug("divergent_barrier/two_branches", 32, 32, 32, lambda x: 2 * x[::-1]),
    Bug("divergent_barrier/until_converged", 64, 64, 64, ref.halvings),
    Bug("divergent_barrier/counting_barrier", 100, 100, 2, ref.by_blocks(64, lambda block: np.sum(block > 0))),
    # warp_mask
    Bug("warp_mask/half_a_warp", 128, 128, 8, ref.block_sums(16)),
    Bug("warp_mask/mask_of_classes", 10, 30, 30, ref.by_rows(10, ref.softmax)),
    Bug("warp_mask/mask_from_ballot", 20, 20, 1, np.sum),
    Bug("warp_mask/leader_only", 128, 128, 128, ref.by_rows(32, lambda warp: warp - warp[0])),
    Bug("warp_mask/barrier_of_some", 32, 32, 32, lambda x: np.tile(x[7::-1], 4)),
    # warp_divergence
    Bug("warp_divergence/guarded_shuffle", 100, 100, 2, ref.block_sums(64)),
    Bug("warp_divergence/last_stage", 200, 400, 400, ref.by_rows(200, ref.layer_norm)),
    Bug("warp_divergence/divergent_ballot", 32, 32, 32, ref.ranks_of_positives),
    Bug("warp_divergence/shuffle_in_loop", 80, 80, 3, ref.block_sums(32)),
    # inactive_lane
    Bug("inactive_lane/early_return", 40, 40, 2, ref.block_sums(32)),
    Bug("inactive_lane/partial_warp", 48, 48, 2, lambda x: ref.block_sums(16)(x)[::2]),
    Bug("inactive_lane/outside_the_mask", 30, 30, 3, ref.block_sums(10)),
    Bug("inactive_lane/source_left_out", 32, 32, 32, lambda x: np.append(x[0], x[1:] - x[0])),
    # launch_limit
    Bug("launch_limit/too_many_threads", 40, 1600, 1600, lambda x: 3 * x),
    Bug("launch_limit/grid_y", 70000, 140000, 70000, lambda x: x[::2] + x[1::2]),
    Bug("launch_limit/block_z", 64, 128, 64, lambda x: x[::2] - x[1::2]),
    Bug("launch_limit/no_attribute", 14000, 14000, 14000, np.flip),
    Bug("launch_limit/static_and_dynamic", 1000, 1000, 8, ref.dot_with_table),
    Bug("launch_limit/beyond_the_device", 128, 128, 128, np.flip),
    Bug("launch_limit/above_launch_bounds", 300, 300, 300, np.square),
    Bug("launch_limit/empty_grid", 100, 100, 100, np.square),
    # deadlock
    Bug("deadlock/lock_across_barrier", 32, 32, 1, np.sum),
    Bug("deadlock/lock_not_released", 40, 40, 1, lambda x: max(0, x[x <= 0.5].max())),
    Bug("deadlock/flag_never_set", 1, 1, 1, lambda x: 2 * x),
    Bug("deadlock/too_few_at_barrier", 32, 32, 32, np.flip),
    Bug("deadlock/grid_barrier_skipped", 90, 90, 91, lambda x: x + x[0]),
    Bug("deadlock/home_made_grid_barrier", 32, 32, 64, lambda x: 2 * x[::-1]),
    # arithmetic
    Bug("arithmetic/mask_of_a_full_warp", 32, 64, 2, ref.block_sums(32)),
    Bug("arithmetic/rotate_by_zero", 100, 100, 100, ref.rotated),
    Bug("arithmetic/nan_to_bin", 100, 100, 8, ref.octaves, ref.wide),
    Bug("arithmetic/quantise", 100, 100, 100, lambda x: np.clip(np.rint(x / np.float32(1e-12)), -128, 127) * 1e-12),
    Bug("arithmetic/negative_to_unsigned", 100, 100, 100, lambda x: np.floor(x * 64) % 256),
    Bug("arithmetic/unpack_bits", 32, 4, 32, ref.unpacked_bits, ref.bits),
    Bug("arithmetic/remainder_of_none", 100, 100, 100, lambda x: x),
    # index_overflow
    Bug("index_overflow/short_index", 33000, 33000, 33000, np.negative),
    Bug("index_overflow/signed_hash", 100, 100, 16, ref.hashed),
    Bug("index_overflow/product_of_sizes", 1000, 1000, 20, lambda x: x[np.arange(20) * 150000001 % 1000]),
    # host_api
    Bug("host_api/double_free", 100, 100, 100, lambda x: 6 * x),
    Bug("host_api/interior_free", 150, 150, 150, np.square),
    Bug("host_api/use_after_free", 100, 100, 100, lambda x: x**2 + x[::-1] ** 2),
    Bug("host_api/copy_past_the_end", 96, 96, 96, np.negative),
    Bug("host_api/memset_past_the_end", 100, 100, 4, lambda x: x.reshape(-1, 4).sum(axis=0)),
    Bug("host_api/host_pointer", 50, 50, 50, lambda x: x * np.resize([0.25, 0.5, 0.25], 50)),
    Bug("host_api/host_stack_pointer", 50, 50, 50, lambda x: np.full(50, x.sum())),
    Bug("host_api/too_small_allocation", 100, 100, 100, lambda x: 1 / (1 + np.exp(-x))),
    # endless_loop
    Bug("endless_loop/recursion", 40, 40, 40, ref.descended),
    Bug("endless_loop/binary_search", 50, 100, 50, lambda x: np.searchsorted(x[:50], x[50:]), ref.sorted_first_half),
)
