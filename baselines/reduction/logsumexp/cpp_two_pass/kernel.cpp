// Log-sum-exp (Blanchard, Higham and Higham 2021) in two passes over a row: the maximum, then the sum.
#include <cmath>

extern "C" void logsumexp(const KBENCH_T* x, KBENCH_T* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols) {
        float top = x[0];
        for (int64_t col = 1; col < cols; ++col) {
            const float value = x[col];
            top = value > top ? value : top;
        }
        double total = 0.0;
        for (int64_t col = 0; col < cols; ++col) total += std::exp(static_cast<float>(x[col]) - top);
        y[row] = static_cast<float>(std::log(total)) + top;
    }
}
