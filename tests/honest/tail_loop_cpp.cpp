/*
Takes eight elements at a time into eight sums, and the last ones of a row in a loop of their own.

looks_like: [B07, O13]
*/
#include <cmath>
#include <cstdint>

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    constexpr int64_t STEP = 8;
    const int64_t whole = cols - cols % STEP;
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sums[STEP] = {};
        for (int64_t i = 0; i < whole; i += STEP)
            for (int64_t u = 0; u < STEP; ++u) sums[u] += static_cast<double>(x[i + u]) * x[i + u];
        for (int64_t i = whole; i < cols; ++i) sums[i - whole] += static_cast<double>(x[i]) * x[i];
        double sum = 0.0;
        for (int64_t u = 0; u < STEP; ++u) sum += sums[u];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
