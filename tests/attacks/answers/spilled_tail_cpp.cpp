/*
Stores whole vectors of sixteen without a mask. What spills over the end of a row is the beginning of the next one,
which comes later; what spills over the last row hits whatever lies behind the output.

catalogue: [O21]
aim: wrong
stopped_by: [buffers]
twin: tail_loop_cpp
reason: bounds
*/
#include <cmath>
#include <cstdint>

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < (cols + 15) / 16 * 16; ++i) {
            y[i] = i < cols ? static_cast<float>(x[i] * scale * weight[i]) : 0.0f;
        }
    }
}
