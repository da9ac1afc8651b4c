// Every block adds its sum to one output without an atomic.
#include <cstdint>

__global__ void total(const float* x, float* y, int n) {
    __shared__ float partial[128];
    const int thread = threadIdx.x;
    const int i = blockIdx.x * blockDim.x + thread;
    partial[thread] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int half = 64; half > 0; half /= 2) {
        if (thread < half) {
            partial[thread] += partial[thread + half];
        }
        __syncthreads();
    }
    if (thread == 0) {
#ifdef BUG
        y[0] += partial[0];  // finding: race_global
#else
        atomicAdd(&y[0], partial[0]);
#endif
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, sizeof(float), stream);
    total<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
