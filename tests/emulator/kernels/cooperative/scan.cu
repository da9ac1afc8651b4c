// Inclusive and exclusive scans of tiles.
#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
#include <cstdint>

namespace cg = cooperative_groups;

__global__ void scans(const int* in, int* inclusive, int* exclusive, int* highest, int* small) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<8>(block);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = in[i];
    inclusive[i] = cg::inclusive_scan(warp, value);
    exclusive[i] = cg::exclusive_scan(warp, value);
    highest[i] = cg::inclusive_scan(warp, value, cg::greater<int>());
    small[i] = cg::exclusive_scan(tile, value, cg::plus<int>());
}

extern "C" void run(const int* in, int* inclusive, int* exclusive, int* highest, int* small, int64_t n,
                    cudaStream_t stream) {
    scans<<<n / 96, 96, 0, stream>>>(in, inclusive, exclusive, highest, small);
}
