// Batched matrix product: each row of a result is a float32 sum of the rows of b, which the compiler vectorises.
#include <algorithm>
#include <vector>

extern "C" void batched(
    const KBENCH_T* a, const KBENCH_T* b, KBENCH_T* c, int64_t batch, int64_t m, int64_t n, int64_t k) {
    std::vector<float> right(k * n), total(n);
    for (int64_t member = 0; member < batch; ++member, b += k * n) {
        for (int64_t i = 0; i < k * n; ++i) right[i] = b[i];
        for (int64_t row = 0; row < m; ++row, a += k, c += n) {
            std::fill(total.begin(), total.end(), 0.0f);
            for (int64_t term = 0; term < k; ++term) {
                const float factor = a[term];
                const float* line = right.data() + term * n;
                for (int64_t col = 0; col < n; ++col) total[col] += factor * line[col];
            }
            for (int64_t col = 0; col < n; ++col) c[col] = total[col];
        }
    }
}
