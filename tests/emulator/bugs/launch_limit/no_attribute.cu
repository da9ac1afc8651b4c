// More than 48 KiB of dynamic shared memory without asking for it first.
#include <cstdint>

__global__ void reverse(const float* x, float* y, int n) {
    extern __shared__ float values[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        values[i] = x[i];
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        y[i] = values[n - 1 - i];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const size_t bytes = n * sizeof(float);
#ifndef BUG
    cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
#endif
    reverse<<<1, 64, bytes, stream>>>(x, y, n);  // finding: launch_limit
}
