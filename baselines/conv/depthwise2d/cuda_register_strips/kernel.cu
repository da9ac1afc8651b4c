// Depthwise convolution (Howard et al. 2017). A thread works on a strip of outputs below each other: it loads every
// input once and adds it to all sums of the strip whose windows have it. Threads of a block lie along output rows. For
// usual filters all is unrolled, and their taps stay in registers.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int STRIP = 4, THREADS = 256;

struct Shape {
    int channels, height, width, out_height, out_width, kh, kw, step, margin;
};

// KH, KW and STEP are 0 where they are only known at run time.
template <int KH, int KW, int STEP>
__global__ void __launch_bounds__(THREADS)
    convolve(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, T* __restrict__ y,
             int64_t strips, Shape s) {
    const int kh = KH > 0 ? KH : s.kh, kw = KW > 0 ? KW : s.kw, step = STEP > 0 ? STEP : s.step;
    const int64_t strip = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
    if (strip >= strips) return;
    const int per_plane = (s.out_height + STRIP - 1) / STRIP;
    const int64_t plane = strip / per_plane;
    const int first = int(strip - plane * per_plane) * STRIP, channel = int(plane % s.channels);
    const int top = first * step - s.margin;
    const T* image = x + plane * s.height * s.width;
    const T* filter = weight + channel * kh * kw;
    const float offset = float(bias[channel]);
    float held[KH > 0 ? KH * KW : 1];
#pragma unroll
    for (int i = 0; i < KH * KW; ++i) held[i] = float(filter[i]);

    for (int col = threadIdx.x; col < s.out_width; col += blockDim.x) {
        const int side = col * step - s.margin;
        float total[STRIP] = {};
        // Down the rows of all windows; row r of them has the taps of row r - i * step of output i's filter.
#pragma unroll
        for (int r = 0; r < (STRIP - 1) * step + kh; ++r) {
            if (unsigned(top + r) >= unsigned(s.height)) continue;
            const T* line = image + (top + r) * s.width;
#pragma unroll
            for (int v = 0; v < kw; ++v) {
                if (unsigned(side + v) >= unsigned(s.width)) continue;
                const float value = float(line[side + v]);
#pragma unroll
                for (int i = 0; i < STRIP; ++i) {
                    const int u = r - i * step;
                    if (u < 0 || u >= kh) continue;
                    total[i] += value * (KH > 0 ? held[u * kw + v] : float(filter[u * kw + v]));
                }
            }
        }
#pragma unroll
        for (int i = 0; i < STRIP; ++i)
            if (first + i < s.out_height)
                y[(plane * s.out_height + first + i) * s.out_width + col] = T(total[i] + offset);
    }
}

}  // namespace

extern "C" void depthwise2d(const T* x, const T* weight, const T* bias, int64_t stride, int64_t padding, T* y,
                            int64_t batch, int64_t channels, int64_t height, int64_t width, int64_t kh, int64_t kw,
                            int64_t, int64_t, cudaStream_t stream) {
    const int64_t out_height = (height + 2 * padding - kh) / stride + 1;
    const int64_t out_width = (width + 2 * padding - kw) / stride + 1;
    const int64_t strips = batch * channels * ((out_height + STRIP - 1) / STRIP);
    const Shape shape = {int(channels), int(height), int(width),  int(out_height), int(out_width),
                         int(kh),       int(kw),     int(stride), int(padding)};
    // As many threads along a row as it can use; the rest of the block works on other strips.
    unsigned across = 8;
    while (across < 128 && across < out_width) across *= 2;
    const dim3 threads(across, THREADS / across);
    const auto blocks = static_cast<unsigned>((strips + threads.y - 1) / threads.y);
    const auto is = [&](int64_t size, int64_t step) { return kh == size && kw == size && stride == step; };
    const auto kernel = is(3, 1)   ? convolve<3, 3, 1>
                        : is(3, 2) ? convolve<3, 3, 2>
                        : is(5, 1) ? convolve<5, 5, 1>
                        : is(5, 2) ? convolve<5, 5, 2>
                                   : convolve<0, 0, 0>;
    kernel<<<blocks, threads, 0, stream>>>(x, weight, bias, y, strips, shape);
}
