/*
Starts a thread for half of the rows in every call, does the other half meanwhile, and joins it before it returns.

looks_like: [T03, T04]
*/
#include <cmath>
#include <cstdint>
#include <thread>

namespace {

void norm(const float* x, const float* weight, float* y, int64_t first, int64_t last, int64_t cols) {
    for (int64_t row = first; row < last; ++row) {
        const float* in = x + row * cols;
        float* out = y + row * cols;
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(in[i]) * in[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) out[i] = static_cast<float>(in[i] * scale * weight[i]);
    }
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    std::thread other(norm, x, weight, y, rows / 2, rows, cols);
    norm(x, weight, y, 0, rows / 2, cols);
    other.join();
}
