/*
Sums four rows of the product at a time in double, a wider type than that of the task, and rounds each element once.

looks_like: [P01, P09]
task: matmul/matmul
*/
#include <algorithm>
#include <cstdint>
#include <vector>

extern "C" void matmul(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
    constexpr int64_t HEIGHT = 4;
    std::vector<double> sums(HEIGHT * n);
    for (int64_t first = 0; first < m; first += HEIGHT) {
        const int64_t height = std::min(HEIGHT, m - first);
        std::fill(sums.begin(), sums.end(), 0.0);
        for (int64_t l = 0; l < k; ++l)
            for (int64_t i = 0; i < height; ++i) {
                const double left = a[(first + i) * k + l];
                const float* right = b + l * n;
                double* sum = sums.data() + i * n;
                for (int64_t j = 0; j < n; ++j) sum[j] += left * right[j];
            }
        for (int64_t i = 0; i < height; ++i)
            for (int64_t j = 0; j < n; ++j) c[(first + i) * n + j] = static_cast<float>(sums[i * n + j]);
    }
}
