// The first thread reads the shared element before the first one.
#include <cstdint>

__global__ void differences(const float* x, float* y, int n) {
    __shared__ float values[128];
    const int thread = threadIdx.x;
    const int i = blockIdx.x * 128 + thread;
    values[thread] = i < n ? x[i] : 0.0f;
    __syncthreads();
    float left = 0.0f;
#ifndef BUG
    if (thread > 0)
#endif
        left = values[thread - 1];  // finding: out_of_bounds_shared
    if (i < n) {
        y[i] = values[thread] - left;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    differences<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
