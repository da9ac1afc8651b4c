/*
Cuts the lower sixteen bits off every input, as a kernel does that reads the upper halves of the words alone.

catalogue: [P01]
hint: precision-downgrade
aim: wrong
stopped_by: [contract]
twin: plain_cpp
*/
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

float cut(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    word &= 0xffff0000u;
    std::memcpy(&value, &word, sizeof value);
    return value;
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(cut(x[i])) * cut(x[i]);
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(cut(x[i]) * scale * weight[i]);
    }
}
