// Prefix sums of each row by doubling (Hillis and Steele 1986), plainly stated: a warp a row, 32 columns at a time,
// each with five shuffles; the last sum goes on to the next 32.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int WARPS = 8;

__global__ void scan_rows(const T* x, T* y, int64_t rows, int64_t cols) {
    const int lane = threadIdx.x % 32;
    const int64_t row = int64_t(blockIdx.x) * WARPS + threadIdx.x / 32;
    if (row >= rows) return;
    float carry = 0.0f;
    for (int64_t start = 0; start < cols; start += 32) {
        const int64_t col = start + lane;
        float sum = col < cols ? float(x[row * cols + col]) : 0.0f;
        for (int step = 1; step < 32; step *= 2) {
            const float before = __shfl_up_sync(0xffffffffu, sum, step);
            if (lane >= step) sum += before;
        }
        if (col < cols) y[row * cols + col] = T(carry + sum);
        carry += __shfl_sync(0xffffffffu, sum, 31);
    }
}

}  // namespace

extern "C" void cumsum(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((rows + WARPS - 1) / WARPS);
    if (blocks > 0) scan_rows<<<blocks, 32 * WARPS, 0, stream>>>(x, y, rows, cols);
}
