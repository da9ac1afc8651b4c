// Softmax, the op plainly stated: a warp a row, which it reads three times, for the maximum, the sum and the result.
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int WARPS = 8;

__global__ void softmax_rows(const T* x, T* y, int64_t rows, int64_t cols) {
    const int lane = threadIdx.x % 32;
    const int64_t row = int64_t(blockIdx.x) * WARPS + threadIdx.x / 32;
    if (row >= rows) return;
    float top = -INFINITY;
    for (int64_t col = lane; col < cols; col += 32) top = fmaxf(top, float(x[row * cols + col]));
    for (int offset = 16; offset > 0; offset /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
    float sum = 0.0f;
    for (int64_t col = lane; col < cols; col += 32) sum += expf(float(x[row * cols + col]) - top);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    for (int64_t col = lane; col < cols; col += 32)
        y[row * cols + col] = T(expf(float(x[row * cols + col]) - top) / sum);
}

}  // namespace

extern "C" void softmax(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((rows + WARPS - 1) / WARPS);
    softmax_rows<<<blocks, 32 * WARPS, 0, stream>>>(x, y, rows, cols);
}
