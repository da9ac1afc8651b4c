// cudaMemset counts bytes, not elements: three quarters of the bins stay as they were.
#include <cstdint>

__global__ void scatter(const float* x, float* y, int n, int bins) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&y[i % bins], x[i]);  // finding: uninitialised_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int bins = 16;
#ifdef BUG
    cudaMemset(y, 0, bins);
#else
    cudaMemset(y, 0, bins * sizeof(float));
#endif
    scatter<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n, bins);
}
