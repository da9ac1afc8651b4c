// Layer normalisation (Ba, Kiros and Hinton 2016) with its choices in one place. As it stands it goes down 64 rows, one
// element of each after the other, before it looks at the next column. The variance is the corrected two-pass one (Chan,
// Golub and LeVeque 1983): the sum of the deviations, zero but for rounding, repairs the mean.
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

// Of ROWS rows side by side. Short sums in float are added up in double.
template <int ROWS>
void find_means(const float* x, int64_t cols, float* means) {
    double totals[ROWS] = {};
    int64_t i = 0;
    while (i + STEP <= cols) {
        Vec sums[ROWS][SUMS] = {};
        const int64_t last = std::min(cols - STEP, i + (BLOCK - 1) * STEP);
        for (; i <= last; i += STEP)
            for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
                for (int s = 0; s < SUMS; ++s) sums[r][s] += load(x + r * cols + i + s * LANES);
        for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
            for (int s = 0; s < SUMS; ++s) totals[r] += total(sums[r][s]);
    }
    for (; i < cols; ++i)
        for (int r = 0; r < ROWS; ++r) totals[r] += x[r * cols + i];
    for (int r = 0; r < ROWS; ++r) means[r] = static_cast<float>(totals[r] / static_cast<double>(cols));
}

template <int ROWS>
void find_scales(const float* x, int64_t cols, const float* means, float* corrections, float* scales) {
    double offs[ROWS] = {}, squares[ROWS] = {};
    int64_t i = 0;
    while (i + STEP <= cols) {
        Vec off[ROWS][SUMS] = {}, square[ROWS][SUMS] = {};
        const int64_t last = std::min(cols - STEP, i + (BLOCK - 1) * STEP);
        for (; i <= last; i += STEP)
            for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
                for (int s = 0; s < SUMS; ++s) {
                    const Vec deviation = load(x + r * cols + i + s * LANES) - means[r];
                    off[r][s] += deviation;
                    square[r][s] += deviation * deviation;
                }
        for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 8
            for (int s = 0; s < SUMS; ++s) {
                offs[r] += total(off[r][s]);
                squares[r] += total(square[r][s]);
            }
    }
    for (; i < cols; ++i)
        for (int r = 0; r < ROWS; ++r) {
            const double deviation = static_cast<double>(x[r * cols + i]) - means[r];
            offs[r] += deviation;
            squares[r] += deviation * deviation;
        }
    for (int r = 0; r < ROWS; ++r) {
        const double correction = offs[r] / static_cast<double>(cols);
        const double variance = squares[r] / static_cast<double>(cols) - correction * correction;
        const double root = std::sqrt(variance + 1e-5);
        corrections[r] = static_cast<float>(correction);
        scales[r] = static_cast<float>(DIVIDES ? root : 1.0 / root);
    }
}

template <int ROWS>
void normalise(const float* x, const float* weight, const float* bias, float* y, int64_t cols) {
    float means[ROWS], corrections[ROWS], scales[ROWS];
    find_means<ROWS>(x, cols, means);
    find_scales<ROWS>(x, cols, means, corrections, scales);
    int64_t i = 0;
    for (; i + LANES <= cols; i += LANES)
        for (int r = 0; r < ROWS; ++r) {
            const Vec deviation = (load(x + r * cols + i) - means[r]) - corrections[r];
            store(y + r * cols + i, scaled(deviation, scales[r]) * load(weight + i) + load(bias + i));
        }
    for (; i < cols; ++i)
        for (int r = 0; r < ROWS; ++r) {
            const float deviation = (x[r * cols + i] - means[r]) - corrections[r];
            y[r * cols + i] = scaled(deviation, scales[r]) * weight[i] + bias[i];
        }
}

}  // namespace

extern "C" void layernorm(
    const float* x, const float* weight, const float* bias, float* y, int64_t rows, int64_t cols
) {
    int64_t row = 0;
    for (; row + HEIGHT <= rows; row += HEIGHT) normalise<HEIGHT>(x + row * cols, weight, bias, y + row * cols, cols);
    for (; row < rows; ++row) normalise<1>(x + row * cols, weight, bias, y + row * cols, cols);
}
