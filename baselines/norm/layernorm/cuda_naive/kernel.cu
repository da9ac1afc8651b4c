// Layer normalisation (Ba, Kiros and Hinton 2016), plainly stated: a warp a row, which it reads three times, for the
// mean, the variance and the result.
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int WARPS = 8;

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

__global__ void normalise(const T* x, const T* weight, const T* bias, T* y, int64_t rows, int64_t cols) {
    const int lane = threadIdx.x % 32;
    const int64_t row = int64_t(blockIdx.x) * WARPS + threadIdx.x / 32;
    if (row >= rows) return;
    x += row * cols, y += row * cols;
    float sum = 0.0f, deviations = 0.0f, squares = 0.0f;
    for (int64_t col = lane; col < cols; col += 32) sum += float(x[col]);
    const float mean = warp_sum(sum) / float(cols);
    for (int64_t col = lane; col < cols; col += 32) {
        const float deviation = float(x[col]) - mean;
        deviations += deviation;
        squares += deviation * deviation;
    }
    const float correction = warp_sum(deviations) / float(cols);  // what rounding has cost the mean
    const float variance = warp_sum(squares) / float(cols) - correction * correction;
    const float scale = 1.0f / sqrtf(variance + 1e-5f);
    for (int64_t col = lane; col < cols; col += 32)
        y[col] = T((float(x[col]) - mean - correction) * scale * float(weight[col]) + float(bias[col]));
}

}  // namespace

extern "C" void layernorm(const T* x, const T* weight, const T* bias, T* y, int64_t rows, int64_t cols,
                          cudaStream_t stream) {
    if (rows == 0) return;  // a grid must not be empty
    const auto blocks = static_cast<unsigned>((rows + WARPS - 1) / WARPS);
    normalise<<<blocks, 32 * WARPS, 0, stream>>>(x, weight, bias, y, rows, cols);
}
