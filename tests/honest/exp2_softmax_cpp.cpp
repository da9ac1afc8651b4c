/*
Takes powers of two of a rescaled difference instead of exponentials, in double, and one reciprocal for each row.

looks_like: [P08, P07]
task: activation/softmax
*/
#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void softmax(const float* x, float* y, int64_t rows, int64_t cols) {
    constexpr double LOG2_E = 1.4426950408889634;
    std::vector<double> powers(cols);
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double top = -INFINITY;
        for (int64_t i = 0; i < cols; ++i) top = x[i] > top ? x[i] : top;
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) {
            powers[i] = std::exp2((x[i] - top) * LOG2_E);  // a NaN stays one, and makes the sum one
            sum += powers[i];
        }
        const double reciprocal = 1.0 / sum;
        for (int64_t i = 0; i < cols; ++i) y[i] = static_cast<float>(powers[i] * reciprocal);
    }
}
