// Groups of eight lanes exchange values, but wait in groups of four.
#include <cooperative_groups.h>

#include <cstdint>

namespace cg = cooperative_groups;

__global__ void reverse_groups(const float* x, float* y) {
    __shared__ float values[64];
    const int first = threadIdx.x / 8 * 8;
    values[threadIdx.x] = x[threadIdx.x];  // finding: race_shared
#ifdef BUG
    const auto group = cg::tiled_partition<4>(cg::this_thread_block());
#else
    const auto group = cg::tiled_partition<8>(cg::this_thread_block());
#endif
    group.sync();
    y[threadIdx.x] = values[first + 7 - threadIdx.x % 8];  // finding: race_shared
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    reverse_groups<<<1, 64, 0, stream>>>(x, y);
}
