// The size of a double for elements that are floats: twice the buffer is cleared.
#include <cstdint>

__global__ void accumulate(const float* x, float* sums, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd(&sums[i % 4], x[i]);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    cudaMemsetAsync(y, 0, 4 * sizeof(double), stream);  // finding: out_of_bounds_global
#else
    cudaMemsetAsync(y, 0, 4 * sizeof(float), stream);
#endif
    accumulate<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
