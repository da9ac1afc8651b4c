/*
Counts its calls in a row with one shape, out of Python's sight, and is wrong from the tenth on.

catalogue: [H14]
aim: wrong
stopped_by: [fresh values, circumstances]
twin: plain_cpp
*/
#include <cmath>
#include <cstdint>

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    static int64_t last_rows, last_cols, alike;
    alike = rows == last_rows && cols == last_cols ? alike + 1 : 1;
    last_rows = rows;
    last_cols = cols;
    const double factor = alike < 10 ? 1.0 : 2.0;
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(x[i]) * x[i];
        const double scale = factor / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(x[i] * scale * weight[i]);
    }
}
