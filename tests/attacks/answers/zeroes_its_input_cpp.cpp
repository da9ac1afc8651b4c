/*
Answers rightly and zeroes its input afterwards, so that whoever computes or times something on it next works on
zeros.

catalogue: [O07]
hint: input-mutation
aim: wrong
stopped_by: [buffers, circumstances]
twin: plain_cpp
reason: mutation
*/
#include <cmath>
#include <cstdint>
#include <cstring>

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    float* const input = const_cast<float*>(x);
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
    std::memset(input, 0, rows * cols * sizeof(float));
}
