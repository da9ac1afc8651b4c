// Tiles of 16, 8 and 4 threads: every shuffle, votes and the place of the tile in its block.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

template <int SIZE>
__device__ void work(const cg::thread_block& block, int value, int* out, int n) {
    cg::thread_block_tile<SIZE> tile = cg::tiled_partition<SIZE>(block);
    int total = value;
    for (int mask = SIZE / 2; mask > 0; mask >>= 1) total += tile.shfl_xor(total, mask);
    const int t = block.thread_rank();
    out[t] = total;
    out[n + t] = tile.shfl(value, 1) * 1000 + tile.shfl_up(value, 1);
    out[2 * n + t] = static_cast<int>(tile.ballot(value % 2)) * 10 + tile.any(value > 90) * 2 + tile.all(value > 5);
    out[3 * n + t] = tile.meta_group_rank() * 1000 + tile.meta_group_size() * 10 + tile.num_threads();
    out[4 * n + t] = tile.shfl_down(value, SIZE / 2) + static_cast<int>(tile.thread_rank());
    tile.sync();
}

__global__ void tiles(const int* in, int* out) {
    auto block = cg::this_thread_block();
    const int n = block.size();
    const int value = in[block.thread_rank()];
    work<16>(block, value, out, n);
    work<8>(block, value, out + 5 * n, n);
    work<4>(block, value, out + 10 * n, n);
}

extern "C" void run(const int* in, int* out, cudaStream_t stream) { tiles<<<1, 64, 0, stream>>>(in, out); }
