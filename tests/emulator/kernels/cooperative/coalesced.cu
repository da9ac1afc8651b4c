// Aggregated atomics with coalesced_threads: odd values take the places from the front, in whatever order.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

__device__ int atomicAggInc(int* counter) {
    cg::coalesced_group active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(counter, static_cast<int>(active.size()));
    return active.shfl(base, 0) + active.thread_rank();
}

__global__ void count_odd(const int* in, int* counter, int* places, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] % 2 == 1) {
        atomicAdd(&places[atomicAggInc(counter)], 1);
    }
}

extern "C" void run(const int* in, int* counter, int* places, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(counter, 0, sizeof(int), stream);
    cudaMemsetAsync(places, 0, n * sizeof(int), stream);
    count_odd<<<(n + 63) / 64, 64, 0, stream>>>(in, counter, places, n);
}
