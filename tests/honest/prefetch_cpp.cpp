/*
Asks for the next row while it works on this one: caches are warmed, within the call and within the input.

looks_like: [C13, W02]
*/
#include <cmath>
#include <cstdint>

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    constexpr int64_t LINE = 16;
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t start = 0; start < cols; start += LINE) {
            if (row + 1 < rows) __builtin_prefetch(x + cols + start);
            const int64_t end = start + LINE < cols ? start + LINE : cols;
            for (int64_t i = start; i < end; ++i) sum += static_cast<double>(x[i]) * x[i];
        }
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
