// Row sums: a 32-wide tile reduces with shfl_down, a second one combines the tiles.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

template <typename Tile>
__device__ float reduce_tile(const Tile& tile, float value) {
    for (int offset = tile.size() / 2; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
    return value;
}

__global__ void row_sums(const float* x, float* sums, int cols) {
    __shared__ float partial[4];
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    float value = 0.0f;
    for (int c = block.thread_rank(); c < cols; c += block.size()) value += x[blockIdx.x * cols + c];
    value = reduce_tile(warp, value);
    if (warp.thread_rank() == 0) partial[warp.meta_group_rank()] = value;
    block.sync();
    if (warp.meta_group_rank() == 0) {
        value = warp.thread_rank() < block.size() / 32 ? partial[warp.thread_rank()] : 0.0f;
        value = reduce_tile(warp, value);
        if (warp.thread_rank() == 0) sums[blockIdx.x] = value;
    }
}

extern "C" void run(const float* x, float* sums, int64_t rows, int64_t cols, cudaStream_t stream) {
    row_sums<<<rows, 128, 0, stream>>>(x, sums, cols);
}
