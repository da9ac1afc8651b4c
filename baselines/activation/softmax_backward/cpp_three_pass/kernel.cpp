// Gradient of the softmax (Bridle 1990) in three passes over a row: the maximum, both sums, the gradient.
#include <cmath>
#include <vector>

extern "C" void softmax_backward(
    const KBENCH_T* grad_y, const KBENCH_T* x, KBENCH_T* grad_x, int64_t rows, int64_t cols) {
    std::vector<float> exponential(cols);
    for (int64_t row = 0; row < rows; ++row, grad_y += cols, x += cols, grad_x += cols) {
        float top = x[0];
        for (int64_t col = 1; col < cols; ++col) {
            const float value = x[col];
            top = value > top ? value : top;
        }
        double total = 0.0, dot = 0.0;
        for (int64_t col = 0; col < cols; ++col) {
            exponential[col] = std::exp(static_cast<float>(x[col]) - top);
            total += exponential[col];
            dot += static_cast<float>(grad_y[col]) * exponential[col];
        }
        const float factor = static_cast<float>(1.0 / total), mean = static_cast<float>(dot / total);
        for (int64_t col = 0; col < cols; ++col)
            grad_x[col] = exponential[col] * factor * (static_cast<float>(grad_y[col]) - mean);
    }
}
