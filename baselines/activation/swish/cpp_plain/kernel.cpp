// Swish (Ramachandran, Zoph and Le 2017), one element at a time.
#include <cmath>

extern "C" void swish(const KBENCH_T* x, KBENCH_T* y, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows * cols; ++i) {
        const float value = x[i];
        y[i] = value / (1.0f + std::exp(-value));
    }
}
