// Cooperative groups in a block of 128 threads.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

// The sum over any group, through shared memory.
__device__ int sum_of(cg::thread_group group, int* scratch, int value) {
    const int rank = group.thread_rank();
    for (int step = group.size() / 2; step > 0; step /= 2) {
        scratch[rank] = value;
        group.sync();
        if (rank < step) value += scratch[rank + step];
        group.sync();
    }
    return value;
}

__global__ void forgotten_types(const int* x, int* out) {
    __shared__ int scratch[128];
    const cg::thread_block block = cg::this_thread_block();
    const auto eight = cg::tiled_partition<8>(block);
    const int i = block.thread_rank();
    int total = sum_of(block, scratch, x[i]);
    if (i == 0) out[0] = total;
    block.sync();
    total = sum_of(eight, scratch + i / 8 * 8, x[i]);
    if (eight.thread_rank() == 0) out[1 + eight.meta_group_rank()] = total;
    block.sync();
    const cg::thread_group four = cg::tiled_partition(block, 4);
    total = sum_of(four, scratch + i / 4 * 4, x[i]);
    if (four.thread_rank() == 0) out[17 + i / 4] = total;
}

__global__ void tiles(const int* x, int* out) {
    const cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto eight = cg::tiled_partition<8>(warp);
    const int i = threadIdx.x;
    int same;
    int* row = out + i;
    *row = eight.shfl(x[i], 11), row += 128;
    *row = eight.shfl_up(x[i], 3), row += 128;
    *row = eight.shfl_down(x[i], 3), row += 128;
    *row = eight.shfl_xor(x[i], 5), row += 128;
    *row = eight.ballot(i % 3 == 0), row += 128;
    *row = eight.any(i == 9) + 2 * eight.all(i < 16), row += 128;
    *row = eight.match_any(i % 2) + 1000 * eight.match_all(i / 8, same), row += 128;
    *row = eight.meta_group_rank() + 10 * eight.meta_group_size() + 100 * warp.meta_group_rank() + 1000 * warp.size();
}

__global__ void reductions(const int* x, int* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const auto eight = cg::tiled_partition<8>(warp);
    const int i = threadIdx.x;
    out[i] = cg::reduce(warp, x[i], cg::plus<int>());
    out[128 + i] = cg::reduce(eight, x[i], cg::greater<int>());
    out[256 + i] = cg::reduce(eight, x[i], [](int a, int b) { return a < b ? a : b; });
    out[384 + i] = cg::exclusive_scan(warp, x[i]);
    out[512 + i] = cg::inclusive_scan(eight, x[i], cg::greater<int>());
    out[640 + i] = cg::exclusive_scan(eight, x[i] + 1000, cg::less<int>());
}

__global__ void partitions(int* out) {
    const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    const int i = threadIdx.x;
    if (i % 3 == 0) {
        const cg::coalesced_group third = cg::coalesced_threads();
        out[i] = 1000 * third.size() + 10 * third.thread_rank() + third.shfl(i, 1) % 10;
        const auto four = cg::tiled_partition(third, 4);
        out[128 + i] = 100 * four.meta_group_rank() + 10 * four.size() + four.thread_rank();
    }
    warp.sync();
    const auto halves = cg::binary_partition(warp, i % 5 == 0);
    out[256 + i] = 100 * cg::reduce(halves, 1, cg::plus<int>()) + halves.thread_rank();
    const auto same = cg::labeled_partition(warp, i % 4);
    out[384 + i] = 1000 * same.meta_group_size() + 100 * same.meta_group_rank() + 10 * same.thread_rank();
}

__global__ void whole_warps(const int* x, int* out) {
    __shared__ int tile[128];
    const cg::thread_block block = cg::this_thread_block();
    const auto pair = cg::tiled_partition<64>(block);
    tile[threadIdx.x] = x[threadIdx.x];
    pair.sync();
    out[threadIdx.x] = tile[threadIdx.x ^ 32];
    block.sync();
    cg::memcpy_async(block, tile, x, sizeof tile);
    cg::wait(block);
    out[128 + threadIdx.x] = tile[127 - threadIdx.x];
}

// Each thread adds its own and its mirror image, across blocks.
__global__ void whole_grid(int* x, int* out) {
    const cg::grid_group grid = cg::this_grid();
    const int i = grid.thread_rank(), last = grid.size() - 1;
    x[i] = 3 * i;
    grid.sync();
    out[i] = x[last - i] + x[i];
}

__global__ void without_wait(const int* x, int* out) {
    __shared__ int tile[128];
    const cg::thread_block block = cg::this_thread_block();
    cg::memcpy_async(block, tile, x, sizeof tile);
    out[threadIdx.x] = tile[127 - threadIdx.x];  // without wait
}

extern "C" void run_forgotten_types(const int* x, int* out) { forgotten_types<<<1, 128>>>(x, out); }
extern "C" void run_tiles(const int* x, int* out) { tiles<<<1, 128>>>(x, out); }
extern "C" void run_reductions(const int* x, int* out) { reductions<<<1, 128>>>(x, out); }
extern "C" void run_partitions(int* out) { partitions<<<1, 128>>>(out); }
extern "C" void run_whole_warps(const int* x, int* out) { whole_warps<<<1, 128>>>(x, out); }
extern "C" void run_without_wait(const int* x, int* out) { without_wait<<<1, 128>>>(x, out); }
extern "C" void run_whole_grid(int* x, int* out) {
    void* arguments[] = {&x, &out};
    cudaLaunchCooperativeKernel((void*)whole_grid, dim3(5), dim3(48), arguments, 0, 0);
}
