// More dynamic shared memory than a multiprocessor has; the attribute's error code is ignored.
#include <cstdint>

__global__ void reverse(const float* x, float* y, int n) {
    extern __shared__ float values[];
    values[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = values[n - 1 - threadIdx.x];
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    const int bytes = 256 * 1024;
#else
    const int bytes = 64 * 1024;
#endif
    cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);  // finding: launch_limit
    reverse<<<1, n, bytes, stream>>>(x, y, n);                                            // finding: launch_limit
}
