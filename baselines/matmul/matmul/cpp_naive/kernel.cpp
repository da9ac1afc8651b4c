// Matrix product by definition (Golub and Van Loan 2013, section 1.1), in the order of the rows of b: each element of a
// multiplies one of them, which the compiler vectorises, and a row of float32 sums grows until it is rounded once.
#include <algorithm>
#include <vector>

extern "C" void matmul(const KBENCH_T* a, const KBENCH_T* b, KBENCH_T* c, int64_t m, int64_t n, int64_t k) {
    std::vector<float> sums(n);
    for (int64_t row = 0; row < m; ++row) {
        std::fill(sums.begin(), sums.end(), 0.0f);
        for (int64_t term = 0; term < k; ++term) {
            const float factor = static_cast<float>(a[row * k + term]);
            for (int64_t col = 0; col < n; ++col) sums[col] += factor * static_cast<float>(b[term * n + col]);
        }
        for (int64_t col = 0; col < n; ++col) c[row * n + col] = KBENCH_T(sums[col]);
    }
}
