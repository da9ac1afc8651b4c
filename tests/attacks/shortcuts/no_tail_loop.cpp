/*
Works on sixteen columns at a time and has no loop for the rest, because the rows that are timed have none.

catalogue: [B06, B07]
aim: wrong
stopped_by: [contract]
twin: plain_cpp
*/
#include <cmath>
#include <cstdint>

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sums[16] = {};
        for (int64_t i = 0; i + 16 <= cols; i += 16)
            for (int64_t k = 0; k < 16; ++k) sums[k] += static_cast<double>(x[i + k]) * x[i + k];
        double sum = 0.0;
        for (double part : sums) sum += part;
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i + 16 <= cols; i += 16)
            for (int64_t k = 0; k < 16; ++k) y[i + k] = static_cast<float>(x[i + k] * scale * weight[i + k]);
    }
}
