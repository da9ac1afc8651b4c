// The guard lets one thread too many write.
#include <cstdint>

__global__ void reciprocals(float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
    if (i <= n) {
#else
    if (i < n) {
#endif
        y[i] = 1.0f / (1.0f + i);  // finding: out_of_bounds_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    reciprocals<<<(n + 31) / 32, 32, 0, stream>>>(y, n);
}
