// Gradient of layer normalisation (Ba, Kiros and Hinton 2016) row by row; the sums over the rows are kept in float64.
#include <cmath>
#include <vector>

extern "C" void layernorm_backward(
    const KBENCH_T* grad_y, const KBENCH_T* x, const KBENCH_T* weight, KBENCH_T* grad_x, KBENCH_T* grad_weight,
    KBENCH_T* grad_bias, int64_t rows, int64_t cols) {
    const double count = static_cast<double>(cols);
    std::vector<double> weight_sums(cols), bias_sums(cols);
    for (int64_t row = 0; row < rows; ++row, grad_y += cols, x += cols, grad_x += cols) {
        double sum = 0.0, squares = 0.0, first = 0.0, second = 0.0;
        for (int64_t col = 0; col < cols; ++col) sum += static_cast<float>(x[col]);
        const double mean = sum / count;
        for (int64_t col = 0; col < cols; ++col) {
            const double centred = static_cast<float>(x[col]) - mean;
            squares += centred * centred;
        }
        const double scale = 1.0 / std::sqrt(squares / count + 1e-5);
        for (int64_t col = 0; col < cols; ++col) {
            const double normed = (static_cast<float>(x[col]) - mean) * scale;
            const double grad = static_cast<float>(grad_y[col]);
            weight_sums[col] += grad * normed;
            bias_sums[col] += grad;
            first += grad * static_cast<float>(weight[col]);
            second += grad * static_cast<float>(weight[col]) * normed;
        }
        for (int64_t col = 0; col < cols; ++col) {
            const double normed = (static_cast<float>(x[col]) - mean) * scale;
            const double grad = static_cast<float>(grad_y[col]);
            const double inner = grad * static_cast<float>(weight[col]) - first / count - normed * (second / count);
            grad_x[col] = static_cast<float>(scale * inner);
        }
    }
    for (int64_t col = 0; col < cols; ++col) {
        grad_weight[col] = static_cast<float>(weight_sums[col]);
        grad_bias[col] = static_cast<float>(bias_sums[col]);
    }
}
