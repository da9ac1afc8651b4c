// Mean squared error: one sum, in float64 because there is only one.
extern "C" void mse(
    const KBENCH_T* prediction, const KBENCH_T* target, KBENCH_T* loss, int64_t rows, int64_t cols) {
    double total = 0.0;
    for (int64_t i = 0; i < rows * cols; ++i) {
        const float difference = static_cast<float>(prediction[i]) - static_cast<float>(target[i]);
        total += static_cast<double>(difference) * difference;
    }
    *loss = static_cast<float>(total / static_cast<double>(rows * cols));
}
