/*
Takes the exponential of every element eight times for nobody, so that a call takes many times as long as it must.

looks_like: [T23, T26]
*/
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

volatile float sink;  // what is written here cannot be left out

void waste(const float* x, int64_t count) {
    static std::vector<float> scratch;
    scratch.resize(count);
    for (int pass = 0; pass < 8; ++pass) {
        float total = 0.0f;
        for (int64_t i = 0; i < count; ++i) {
            scratch[i] = std::exp(x[i] - static_cast<float>(pass));
            total += scratch[i];
        }
        sink = total;
    }
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    waste(x, rows * cols);
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
