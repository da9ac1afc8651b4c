// Max pooling, a thread an output. Overlapping windows meet in the L1 cache. Threads of a block lie along output rows,
// so that a position costs one division a row; windows of 2 and 3 are unrolled, so that their loads overlap in time.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

// WINDOW is 0 where the size is only known at run time.
template <typename T, int WINDOW>
__global__ void __launch_bounds__(256, 4)
    pool_rows(const T* __restrict__ x, T* __restrict__ y, int64_t rows, int64_t height, int64_t width,
              int64_t out_height, int64_t out_width, int64_t window, int64_t step) {
    const int64_t size = WINDOW > 0 ? WINDOW : window;
    for (int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y; row < rows;
         row += int64_t(gridDim.x) * blockDim.y) {
        const int64_t plane = row / out_height, top = (row - plane * out_height) * step;
        for (int64_t col = threadIdx.x; col < out_width; col += blockDim.x) {
            const T* corner = x + (plane * height + top) * width + col * step;
            float best = -INFINITY;
#pragma unroll
            for (int64_t i = 0; i < size; ++i) {
#pragma unroll
                for (int64_t j = 0; j < size; ++j) {
                    const float value = float(corner[i * width + j]);
                    best = value > best || value != value ? value : best;  // NaN wins, and stays
                }
            }
            y[row * out_width + col] = T(best);
        }
    }
}

}  // namespace

extern "C" void max_pool2d(const KBENCH_T* x, int64_t kernel_size, int64_t stride, KBENCH_T* y, int64_t batch,
                           int64_t channels, int64_t height, int64_t width, int64_t window, int64_t step,
                           cudaStream_t stream) {
    const int64_t out_height = (height - window) / step + 1, out_width = (width - window) / step + 1;
    const int64_t rows = batch * channels * out_height;
    // As many threads along a row as it can use; the rest of the block works on other rows.
    unsigned across = 8;
    while (across < 128 && across < out_width) across *= 2;
    const dim3 threads(across, 256 / across);
    const auto blocks = static_cast<unsigned>(std::min<int64_t>((rows + threads.y - 1) / threads.y, INT32_MAX));
    const auto kernel = window == 2   ? pool_rows<KBENCH_T, 2>
                        : window == 3 ? pool_rows<KBENCH_T, 3>
                                      : pool_rows<KBENCH_T, 0>;
    kernel<<<blocks, threads, 0, stream>>>(x, y, rows, height, width, out_height, out_width, kernel_size, stride);
}
