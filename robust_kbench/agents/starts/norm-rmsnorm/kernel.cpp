// RMSNorm (Zhang and Sennrich 2019, eq. 4) with its choices in one place. As it stands it goes down 64 rows, one element
// of each after the other, before it looks at the next column.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

constexpr int HEIGHT = 64;      // choices: 1 4 16 64
constexpr int LANES = 1;        // choices: 1 2 4 8 16
constexpr int SUMS = 1;         // choices: 1 2 4 8
constexpr int BLOCK = 256;      // choices: 64 256 1024
constexpr bool DIVIDES = true;  // choices: true false

typedef float Vec __attribute__((vector_size(4 * LANES)));
constexpr int64_t STEP = LANES * SUMS;

inline Vec load(const float* from) {
    Vec values;
    std::memcpy(&values, from, sizeof values);
    return values;
}

inline void store(float* to, Vec values) { std::memcpy(to, &values, sizeof values); }

inline double total(Vec values) {
    double sum = 0.0;
    for (int lane = 0; lane < LANES; ++lane) sum += values[lane];
    return sum;
}

template <class Values>
inline Values scaled(Values values, float scale) {
    return DIVIDES ? values / scale : values * scale;
}

// ROWS rows side by side. Short sums in float are added up in double.
template <int ROWS>
void normalise(const float* x, const float* weight, float* y, int64_t cols) {
    double totals[ROWS] = {};
    int64_t i = 0;
    while (i + STEP <= cols) {
        Vec sums[ROWS][SUMS] = {};
        const int64_t last = std::min(cols - STEP, i + (BLOCK - 1) * STEP);
        for (; i <= last; i += STEP)
            for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
                for (int s = 0; s < SUMS; ++s) {
                    const Vec value = load(x + r * cols + i + s * LANES);
                    sums[r][s] += value * value;
                }
        for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
            for (int s = 0; s < SUMS; ++s) totals[r] += total(sums[r][s]);
    }
    for (; i < cols; ++i)
        for (int r = 0; r < ROWS; ++r) totals[r] += static_cast<double>(x[r * cols + i]) * x[r * cols + i];

    float scales[ROWS];
    for (int r = 0; r < ROWS; ++r) {
        const double root = std::sqrt(totals[r] / static_cast<double>(cols) + 1e-6);
        scales[r] = static_cast<float>(DIVIDES ? root : 1.0 / root);
    }
    for (i = 0; i + LANES <= cols; i += LANES)
        for (int r = 0; r < ROWS; ++r)
            store(y + r * cols + i, scaled(load(x + r * cols + i), scales[r]) * load(weight + i));
    for (; i < cols; ++i)
        for (int r = 0; r < ROWS; ++r) y[r * cols + i] = scaled(x[r * cols + i], scales[r]) * weight[i];
}

}  // namespace

extern "C" void rmsnorm(const float* x, const float* weight, float* y, int64_t rows, int64_t cols) {
    int64_t row = 0;
    for (; row + HEIGHT <= rows; row += HEIGHT) normalise<HEIGHT>(x + row * cols, weight, y + row * cols, cols);
    for (; row < rows; ++row) normalise<1>(x + row * cols, weight, y + row * cols, cols);
}
