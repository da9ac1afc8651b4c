// A rotation whose second shift is by 32 when the first is by 0.
#include <cstdint>

__device__ unsigned rotate(unsigned word, int bits) {
#ifdef BUG
    return word << bits | word >> (32 - bits);  // finding: shift_width
#else
    return word << bits | word >> (31 & -bits);
#endif
}

__global__ void hash(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = rotate(__float_as_uint(x[i]), i % 32) % 1000u;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    hash<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
