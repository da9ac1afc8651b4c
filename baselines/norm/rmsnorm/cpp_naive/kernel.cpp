// Root-mean-square normalisation (Zhang and Sennrich 2019, eq. 4), one element at a time: the plain statement of the op.
#include <cmath>

extern "C" void rmsnorm(const KBENCH_T* x, const KBENCH_T* weight, KBENCH_T* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row) {
        const KBENCH_T* in = x + row * cols;
        KBENCH_T* out = y + row * cols;
        float sum = 0.0f;
        for (int64_t col = 0; col < cols; ++col) {
            const float value = in[col];
            sum += value * value;
        }
        const float scale = 1.0f / std::sqrt(sum / cols + 1e-6f);
        for (int64_t col = 0; col < cols; ++col)
            out[col] = static_cast<float>(in[col]) * scale * static_cast<float>(weight[col]);
    }
}
