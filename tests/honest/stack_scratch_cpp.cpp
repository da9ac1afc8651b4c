/*
Puts the squares of up to a thousand elements into an array on the stack that it has not set to anything before.

looks_like: [O16, H07]
*/
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    constexpr int64_t BLOCK = 1024;
    double squares[BLOCK];
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t start = 0; start < cols; start += BLOCK) {
            const int64_t count = std::min(BLOCK, cols - start);
            for (int64_t i = 0; i < count; ++i) squares[i] = static_cast<double>(x[start + i]) * x[start + i];
            for (int64_t i = 0; i < count; ++i) sum += squares[i];
        }
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
