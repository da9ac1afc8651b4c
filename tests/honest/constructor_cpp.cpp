/*
Runs code of its own while the library is loaded, before anybody has called it: it fills a table of reciprocals.

looks_like: [T09, H22]
*/
#include <cmath>
#include <cstdint>

namespace {

constexpr int64_t SIZE = 4096;
double reciprocals[SIZE];

__attribute__((constructor)) void fill_table() {
    for (int64_t i = 1; i < SIZE; ++i) reciprocals[i] = 1.0 / i;
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    const double reciprocal = cols < SIZE ? reciprocals[cols] : 1.0 / cols;
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum * reciprocal + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
