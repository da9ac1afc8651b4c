/*
Two threads add their halves of every row to one atomic sum, whoever comes first, and are joined before it is read.

looks_like: [O16, T03]
*/
#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <thread>

namespace {

void add(std::atomic<double>& sum, double part) {
    double seen = sum.load();
    while (!sum.compare_exchange_weak(seen, seen + part)) {
    }
}

void add_squares(const float* x, std::atomic<double>* sums, int64_t rows, int64_t cols, int64_t first, int64_t last) {
    for (int64_t row = 0; row < rows; ++row, x += cols) {
        double part = 0.0;
        for (int64_t i = first; i < last; ++i) part += static_cast<double>(x[i]) * x[i];
        add(sums[row], part);
    }
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    // Of two parts the sum is the same in either order.
    std::unique_ptr<std::atomic<double>[]> sums(new std::atomic<double>[rows]);
    for (int64_t row = 0; row < rows; ++row) sums[row].store(0.0);
    std::thread other(add_squares, x, sums.get(), rows, cols, cols / 2, cols);
    add_squares(x, sums.get(), rows, cols, 0, cols / 2);
    other.join();
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        const double scale = 1.0 / std::sqrt(sums[row].load() / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
