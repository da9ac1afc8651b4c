// GELU (Hendrycks and Gimpel 2016, eq. 1), one element at a time; erfc keeps the tail that 1 + erf would cancel.
#include <cmath>

extern "C" void gelu(const KBENCH_T* x, KBENCH_T* y, int64_t rows, int64_t cols) {
    constexpr float root_half = 0.70710678f;
    for (int64_t i = 0; i < rows * cols; ++i) {
        const float value = x[i];
        y[i] = 0.5f * value * std::erfc(-value * root_half);
    }
}
