// Prefix sum of each row (Blelloch 1990): one running sum, in float64 because each row has only one.
extern "C" void cumsum(const KBENCH_T* x, KBENCH_T* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        double total = 0.0;
        for (int64_t col = 0; col < cols; ++col) {
            total += static_cast<float>(x[col]);
            y[col] = static_cast<float>(total);
        }
    }
}
