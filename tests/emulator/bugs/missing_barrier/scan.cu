// Inclusive scan after Hillis and Steele: a thread adds to its element while another has yet to read the old value.
#include <cstdint>

__global__ void inclusive_scan(const float* x, float* y, int n) {
    __shared__ float sums[256];
    const int thread = threadIdx.x;
    sums[thread] = thread < n ? x[thread] : 0.0f;
    __syncthreads();
    for (int distance = 1; distance < blockDim.x; distance *= 2) {
        const float left = thread >= distance ? sums[thread - distance] : 0.0f;  // finding: race_shared
#ifndef BUG
        __syncthreads();
#endif
        sums[thread] += left;  // finding: race_shared
        __syncthreads();
    }
    if (thread < n) {
        y[thread] = sums[thread];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    inclusive_scan<<<1, 256, 0, stream>>>(x, y, n);
}
