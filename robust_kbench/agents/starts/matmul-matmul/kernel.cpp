// Matrix product with its choices in one place. As it stands it finishes four sums at a time, each a long chain of
// additions that wait for one another, and goes down the columns of b for them.
#include <algorithm>
#include <cstdint>
#include <cstring>

namespace {

constexpr int HEIGHT = 1;   // choices: 1 2 4 6 8
constexpr int LANES = 4;    // choices: 1 2 4 8 16
constexpr int VECTORS = 1;  // choices: 1 2 4
constexpr int DEPTH = 128;  // choices: 32 128 512

typedef float Vec __attribute__((vector_size(4 * LANES)));
constexpr int64_t WIDTH = LANES * VECTORS;

inline Vec load(const float* from) {
    Vec values;
    std::memcpy(&values, from, sizeof values);
    return values;
}

inline void store(float* to, Vec values) { std::memcpy(to, &values, sizeof values); }

// c[ROWS][WIDTH] += a[ROWS][depth] * b[depth][WIDTH], with rows k, n and n apart: short sums of short sums.
template <int ROWS>
void multiply_add(const float* a, const float* b, float* c, int64_t depth, int64_t n, int64_t k) {
    Vec sums[ROWS][VECTORS] = {};
    for (int64_t l = 0; l < depth; ++l) {
        Vec right[VECTORS];
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) right[v] = load(b + l * n + v * LANES);
#pragma GCC unroll 8
        for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; ++v) sums[r][v] += right[v] * a[r * k + l];
    }
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; ++v) {
            float* to = c + r * n + v * LANES;
            store(to, load(to) + sums[r][v]);
        }
}

// The same for one row, and for fewer columns.
void multiply_add_rest(const float* a, const float* b, float* c, int64_t depth, int64_t columns, int64_t n) {
    float sums[WIDTH] = {};
    for (int64_t l = 0; l < depth; ++l)
        for (int64_t j = 0; j < columns; ++j) sums[j] += a[l] * b[l * n + j];
    for (int64_t j = 0; j < columns; ++j) c[j] += sums[j];
}

}  // namespace

extern "C" void matmul(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
    std::fill(c, c + m * n, 0.0f);
    const int64_t whole = n / WIDTH * WIDTH;
    for (int64_t l = 0; l < k; l += DEPTH) {
        const int64_t depth = std::min<int64_t>(DEPTH, k - l);
        int64_t i = 0;
        for (; i + HEIGHT <= m; i += HEIGHT)
            for (int64_t j = 0; j < whole; j += WIDTH)
                multiply_add<HEIGHT>(a + i * k + l, b + l * n + j, c + i * n + j, depth, n, k);
        for (; i < m; ++i)
            for (int64_t j = 0; j < whole; j += WIDTH)
                multiply_add<1>(a + i * k + l, b + l * n + j, c + i * n + j, depth, n, k);
        for (i = 0; i < m; ++i)
            multiply_add_rest(a + i * k + l, b + l * n + whole, c + i * n + whole, depth, n - whole, n);
    }
}
