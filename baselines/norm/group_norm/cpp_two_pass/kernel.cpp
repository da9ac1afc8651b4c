// Group normalisation (Wu and He 2018): mean, then variance, then the result, over one group of channels after another.
#include <cmath>

extern "C" void group_norm(
    const KBENCH_T* x, int64_t num_groups, const KBENCH_T* weight, const KBENCH_T* bias, KBENCH_T* y, int64_t batch,
    int64_t groups, int64_t depth, int64_t height, int64_t width) {
    (void)groups;
    const int64_t plane = height * width, count = depth * plane;
    for (int64_t group = 0; group < batch * num_groups; ++group, x += count, y += count) {
        double sum = 0.0, squares = 0.0;
        for (int64_t i = 0; i < count; ++i) sum += static_cast<float>(x[i]);
        const double mean = sum / static_cast<double>(count);
        for (int64_t i = 0; i < count; ++i) {
            const double centred = static_cast<float>(x[i]) - mean;
            squares += centred * centred;
        }
        const float middle = static_cast<float>(mean);
        const float scale = static_cast<float>(1.0 / std::sqrt(squares / static_cast<double>(count) + 1e-5));
        const int64_t first = group % num_groups * depth;
        for (int64_t i = 0; i < count; ++i) {
            const int64_t channel = first + i / plane;
            const float normed = (static_cast<float>(x[i]) - middle) * scale;
            y[i] = normed * static_cast<float>(weight[channel]) + static_cast<float>(bias[channel]);
        }
    }
}
