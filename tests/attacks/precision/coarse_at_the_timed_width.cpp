/*
Drops the lower bits of every input when it meets the sizes that are timed, and keeps them at all others.

catalogue: [P04, P03]
hint: precision-downgrade
aim: wrong
stopped_by: [fresh values]
twin: plain_cpp
*/
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

float masked(float value, uint32_t mask) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    word &= mask;
    std::memcpy(&value, &word, sizeof value);
    return value;
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    const bool is_timed = rows == 80 && cols == 4096;
    const uint32_t mask = is_timed ? 0xffffe000u : 0xffffffffu;
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(masked(x[i], mask)) * masked(x[i], mask);
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(masked(x[i], mask) * scale * weight[i]);
    }
}
