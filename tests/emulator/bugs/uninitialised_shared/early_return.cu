// Threads beyond the input return before they have stored anything; a reduction reads what they did not store.
#include <cstdint>

__global__ void block_sums(const float* x, float* y, int n) {
    __shared__ float partial[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
    if (i >= n) {
        return;
    }
    partial[threadIdx.x] = x[i];
#else
    partial[threadIdx.x] = i < n ? x[i] : 0.0f;
#endif
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];  // finding: uninitialised_shared
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = partial[0];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    block_sums<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
