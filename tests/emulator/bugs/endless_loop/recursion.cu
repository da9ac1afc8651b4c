// A recursion in steps of two whose end is met by even numbers only.
#include <cstdint>

__device__ float descend(float value, int level) {
    if (level == 0) {
        return value;
    }
#ifdef BUG
    return 1.0f + 0.5f * descend(value, level - 2);  // finding: local_memory
#else
    return 1.0f + 0.5f * descend(value, level - 1);
#endif
}

__global__ void refine(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = descend(x[i], 7);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    refine<<<(n + 31) / 32, 32, 0, stream>>>(x, y, n);
}
