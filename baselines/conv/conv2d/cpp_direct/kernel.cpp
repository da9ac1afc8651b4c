// Direct convolution: each line of the result is a float32 sum of the image's lines, one tap of the kernel after another.
#include <algorithm>
#include <vector>

extern "C" void conv2d(
    const KBENCH_T* x, const KBENCH_T* weight, const KBENCH_T* bias, int64_t stride, int64_t padding, KBENCH_T* y,
    int64_t batch, int64_t channels, int64_t filters, int64_t height, int64_t width, int64_t kh, int64_t kw, int64_t step,
    int64_t margin) {
    (void)step, (void)margin;
    const int64_t lines = (height + 2 * padding - kh) / stride + 1, places = (width + 2 * padding - kw) / stride + 1;
    const int64_t pitch = width + 2 * padding;
    std::vector<float> image(channels * height * pitch), total(places);
    for (int64_t member = 0; member < batch; ++member) {
        for (int64_t line = 0; line < channels * height; ++line, x += width)
            for (int64_t i = 0; i < width; ++i) image[line * pitch + padding + i] = x[i];
        for (int64_t filter = 0; filter < filters; ++filter) {
            for (int64_t line = 0; line < lines; ++line, y += places) {
                std::fill(total.begin(), total.end(), 0.0f);
                for (int64_t channel = 0; channel < channels; ++channel) {
                    for (int64_t u = 0; u < kh; ++u) {
                        const int64_t row = line * stride + u - padding;
                        if (row < 0 || row >= height) continue;
                        const float* from = image.data() + (channel * height + row) * pitch;
                        const KBENCH_T* taps = weight + ((filter * channels + channel) * kh + u) * kw;
                        for (int64_t v = 0; v < kw; ++v) {
                            const float tap = taps[v];
                            for (int64_t i = 0; i < places; ++i) total[i] += tap * from[i * stride + v];
                        }
                    }
                }
                for (int64_t i = 0; i < places; ++i) y[i] = total[i] + static_cast<float>(bias[filter]);
            }
        }
    }
}
