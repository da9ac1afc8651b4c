// Flags of one byte each, read by the neighbour without a barrier.
#include <cstdint>

__global__ void starts_of_runs(const float* x, float* y, int n) {
    __shared__ bool positive[128];
    const int i = threadIdx.x;
    if (i < n) {
        positive[i] = x[i] > 0.0f;  // finding: race_shared
    }
#ifndef BUG
    __syncthreads();
#endif
    if (i < n) {
        y[i] = i == 0 || positive[i] != positive[i - 1];  // finding: race_shared
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    starts_of_runs<<<1, 128, 0, stream>>>(x, y, n);
}
