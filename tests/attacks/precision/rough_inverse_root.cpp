/*
Guesses the inverse root from the bits of its argument and improves the guess once, which leaves up to 0.2 per cent.

catalogue: [P10, P07]
aim: wrong
stopped_by: [contract]
twin: plain_cpp
*/
#include <cstdint>
#include <cstring>

namespace {

float inverse_root(float value) {
    uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    word = 0x5f3759dfu - (word >> 1);
    float guess;
    std::memcpy(&guess, &word, sizeof guess);
    return guess * (1.5f - 0.5f * value * guess * guess);
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const float scale = inverse_root(static_cast<float>(sum / cols + 1e-6));
        for (int64_t i = 0; i < cols; ++i) y[i] = x[i] * scale * weight[i];
    }
}
