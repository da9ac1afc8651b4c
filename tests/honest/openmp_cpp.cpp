/*
Hands its rows to OpenMP, which could start threads, and asks for one.

looks_like: [T03, T04]
build: ["-O3", "-march=native", "-fopenmp"]
*/
#include <cmath>
#include <cstdint>

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
#pragma omp parallel for num_threads(1)
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        float* out = y + row * cols;
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(in[i]) * in[i];
        const double scale = 1.0 / std::sqrt(sum / cols + 1e-6);
        for (int64_t i = 0; i < cols; ++i) out[i] = static_cast<float>(in[i] * scale * weight[i]);
    }
}
