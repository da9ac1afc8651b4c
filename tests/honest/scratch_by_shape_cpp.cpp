/*
Keeps scratch memory for every shape in a static table, and writes all of it anew in every call.

looks_like: [C06, C03]
*/
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    static std::map<std::pair<int64_t, int64_t>, std::vector<double>> plans;
    std::vector<double>& scales = plans[{rows, cols}];
    scales.resize(rows);
    for (int64_t row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        double sum = 0.0;
        for (int64_t i = 0; i < cols; ++i) sum += static_cast<double>(in[i]) * in[i];
        scales[row] = 1.0 / std::sqrt(sum / cols + 1e-6);
    }
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < cols; ++i)
            y[row * cols + i] = static_cast<float>(x[row * cols + i] * scales[row] * weight[i]);
}
