// Groups as many as the input fills: a small input fills none, and the remainder divides by zero.
#include <cstdint>

__global__ void group_of_each(const float* x, float* y, int n, int group_size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
#ifdef BUG
        const int groups = n / group_size;
#else
        const int groups = max(n / group_size, 1);
#endif
        y[i] = x[i] + i % groups;  // finding: integer_division
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    group_of_each<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n, 128);
}
