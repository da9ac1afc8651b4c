// Convolution by definition (LeCun et al. 1998, section II): a thread for each output, a float32 sum over the channels
// and places of its window. Neighbouring threads have neighbouring columns of one filter's image, so that loads and
// stores of a warp lie together and it shares the filter; what windows have in common meets in the L1 cache.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS)
    convolve(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias, T* __restrict__ y,
             int64_t outputs, int channels, int filters, int height, int width, int out_height, int out_width, int kh,
             int kw, int step, int margin) {
    const int64_t index = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (index >= outputs) return;
    const int64_t line = index / out_width, plane = line / out_height, image = plane / filters;
    const int filter = int(plane - image * filters);
    const int top = int(line - plane * out_height) * step - margin;
    const int side = int(index - line * out_width) * step - margin;
    float total = 0.0f;
    for (int channel = 0; channel < channels; ++channel) {
        const T* from = x + (image * channels + channel) * height * width;
        const T* taps = weight + int64_t(filter * channels + channel) * kh * kw;
        for (int u = 0; u < kh; ++u)
            for (int v = 0; v < kw; ++v)
                if (unsigned(top + u) < unsigned(height) && unsigned(side + v) < unsigned(width))
                    total += float(from[(top + u) * width + side + v]) * float(taps[u * kw + v]);
    }
    y[index] = T(total + float(bias[filter]));
}

}  // namespace

extern "C" void conv2d(const T* x, const T* weight, const T* bias, int64_t stride, int64_t padding, T* y, int64_t batch,
                       int64_t channels, int64_t filters, int64_t height, int64_t width, int64_t kh, int64_t kw,
                       int64_t, int64_t, cudaStream_t stream) {
    const int64_t out_height = (height + 2 * padding - kh) / stride + 1;
    const int64_t out_width = (width + 2 * padding - kw) / stride + 1;
    const int64_t outputs = batch * filters * out_height * out_width;
    const auto blocks = static_cast<unsigned>((outputs + THREADS - 1) / THREADS);
    convolve<<<blocks, THREADS, 0, stream>>>(x, weight, bias, y, outputs, int(channels), int(filters), int(height),
                                             int(width), int(out_height), int(out_width), int(kh), int(kw), int(stride),
                                             int(padding));
}
