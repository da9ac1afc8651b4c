// (1 << lanes) - 1 as the mask of a warp: with 32 lanes the shift is as wide as the type.
#include <cstdint>

__global__ void row_sums(const float* x, float* y, int lanes) {
#ifdef BUG
    const unsigned mask = (1u << lanes) - 1u;  // finding: shift_width
#else
    const unsigned mask = lanes < 32 ? (1u << lanes) - 1u : 0xffffffffu;
#endif
    float sum = x[blockIdx.x * lanes + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(mask, sum, offset);
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    row_sums<<<2, n, 0, stream>>>(x, y, n);
}
