/*
Sums in float and carries along what every addition has lost (Kahan 1965), where others need double.

looks_like: [P09, P01]
*/
#include <cmath>
#include <cstdint>

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        float sum = 0.0f, excess = 0.0f;
        for (int64_t i = 0; i < cols; ++i) {
            const float term = x[i] * x[i] - excess;
            const float next = sum + term;
            excess = std::isfinite(next) ? (next - sum) - term : 0.0f;
            sum = next;
        }
        const double scale = 1.0 / std::sqrt(static_cast<double>(sum) / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
