// Average pooling. A thread works on a strip of outputs below each other: it sums every input row of their windows once
// and adds the sum to all outputs that have it. Threads of a block lie along output rows, so that neighbouring windows
// meet in the L1 cache; usual windows are unrolled.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int STRIP = 4, THREADS = 256;

struct Shape {
    int height, width, out_height, out_width, window, step, margin;
};

// WINDOW and STEP are 0 where they are only known at run time.
template <int WINDOW, int STEP>
__global__ void __launch_bounds__(THREADS)
    pool(const T* __restrict__ x, T* __restrict__ y, int64_t strips, Shape s) {
    const int window = WINDOW > 0 ? WINDOW : s.window, step = STEP > 0 ? STEP : s.step;
    const int64_t strip = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
    if (strip >= strips) return;
    const int per_plane = (s.out_height + STRIP - 1) / STRIP;
    const int64_t plane = strip / per_plane;
    const int first = int(strip - plane * per_plane) * STRIP, top = first * step - s.margin;
    const T* image = x + plane * s.height * s.width;
    for (int col = threadIdx.x; col < s.out_width; col += blockDim.x) {
        const int side = col * step - s.margin;
        float total[STRIP] = {};
        // Down the rows of all windows: row r of them is row r - i * step of output i's window.
#pragma unroll
        for (int r = 0; r < (STRIP - 1) * step + window; ++r) {
            if (unsigned(top + r) >= unsigned(s.height)) continue;
            const T* line = image + (top + r) * s.width;
            float sum = 0.0f;
#pragma unroll
            for (int v = 0; v < window; ++v)
                if (unsigned(side + v) < unsigned(s.width)) sum += float(line[side + v]);
#pragma unroll
            for (int i = 0; i < STRIP; ++i)
                if (r >= i * step && r < i * step + window) total[i] += sum;
        }
#pragma unroll
        for (int i = 0; i < STRIP; ++i)  // zeros of the margin count as terms
            if (first + i < s.out_height)
                y[(plane * s.out_height + first + i) * s.out_width + col] = T(total[i] / float(window * window));
    }
}

}  // namespace

extern "C" void avg_pool2d(const T* x, int64_t kernel_size, int64_t stride, int64_t padding, T* y, int64_t batch,
                           int64_t channels, int64_t height, int64_t width, int64_t, int64_t, int64_t,
                           cudaStream_t stream) {
    const int64_t out_height = (height + 2 * padding - kernel_size) / stride + 1;
    const int64_t out_width = (width + 2 * padding - kernel_size) / stride + 1;
    const int64_t strips = batch * channels * ((out_height + STRIP - 1) / STRIP);
    const Shape shape = {int(height),      int(width),  int(out_height), int(out_width),
                         int(kernel_size), int(stride), int(padding)};
    // As many threads along a row as it can use; the rest of the block works on other strips.
    unsigned across = 8;
    while (across < 128 && across < out_width) across *= 2;
    const dim3 threads(across, THREADS / across);
    const auto blocks = static_cast<unsigned>((strips + threads.y - 1) / threads.y);
    const auto is = [&](int64_t size, int64_t step) { return kernel_size == size && stride == step; };
    const auto kernel = is(2, 2)   ? pool<2, 2>
                        : is(3, 1) ? pool<3, 1>
                        : is(3, 2) ? pool<3, 2>
                        : is(7, 3) ? pool<7, 3>
                                   : pool<0, 0>;
    kernel<<<blocks, threads, 0, stream>>>(x, y, strips, shape);
}
