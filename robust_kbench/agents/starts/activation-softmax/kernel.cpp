// Softmax with its choices in one place. As it stands it goes down 64 rows, one element of each after the other, before
// it looks at the next column. exp follows Cody and Waite 1980: x = n ln 2 + r, a polynomial in r (minimax fit), and n put
// into the exponent.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

constexpr int HEIGHT = 64;      // choices: 1 4 16 64
constexpr int LANES = 1;        // choices: 1 2 4 8 16
constexpr int SUMS = 1;         // choices: 1 2 4
constexpr int BLOCK = 64;       // choices: 16 64 128
constexpr bool DIVIDES = true;  // choices: true false

typedef float Vec __attribute__((vector_size(4 * LANES)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
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

// exp(x) for x <= 0, within 1.1 ulp; 0 where the result would be subnormal, NaN for NaN.
inline Vec exp_nonpositive(Vec x) {
    const Vec shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23 pushes the fraction out: the low bits hold n
    const Vec n = shifted - 12582912.0f;
    const Vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    Vec q = r * 0x1.6a23dp-10f + 0x1.123a2p-7f;
    q = q * r + 0x1.5558f2p-5f;
    q = q * r + 0x1.555492p-3f;
    q = q * r + 0x1.fffffcp-2f;
    const Vec result = (Vec)((Bits)(q * r * r + r + 1.0f) + ((Bits)shifted << 23));
    return x < -87.3f ? Vec{} : (x == x ? result : x);
}

// Of ROWS rows side by side. A NaN may be passed over here: its exponential is NaN, and so is then the sum of its row.
template <int ROWS>
void find_tops(const float* x, int64_t cols, float* tops) {
    Vec most[ROWS][SUMS];
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
        for (int s = 0; s < SUMS; ++s) most[r][s] = Vec{} - INFINITY;
    int64_t i = 0;
    for (; i + STEP <= cols; i += STEP)
        for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
            for (int s = 0; s < SUMS; ++s) {
                const Vec value = load(x + r * cols + i + s * LANES);
                most[r][s] = value > most[r][s] ? value : most[r][s];
            }
    for (int r = 0; r < ROWS; ++r) {
        float top = -INFINITY;
#pragma GCC unroll 4
        for (int s = 0; s < SUMS; ++s)
            for (int lane = 0; lane < LANES; ++lane) {
                const float value = most[r][s][lane];
                if (value > top) top = value;
            }
        for (int64_t rest = i; rest < cols; ++rest)
            if (x[r * cols + rest] > top) top = x[r * cols + rest];
        tops[r] = top;
    }
}

// Leaves the exponentials in y. Equal terms round alike: a sum of short sums keeps that error small.
template <int ROWS>
void add_exponentials(const float* x, float* y, int64_t cols, const float* tops, double* totals) {
    int64_t i = 0;
    while (i + STEP <= cols) {
        Vec sums[ROWS][SUMS] = {};
        const int64_t last = std::min(cols - STEP, i + (BLOCK - 1) * STEP);
        for (; i <= last; i += STEP)
            for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
                for (int s = 0; s < SUMS; ++s) {
                    const int64_t at = r * cols + i + s * LANES;
                    const Vec value = exp_nonpositive(load(x + at) - tops[r]);
                    store(y + at, value);
                    sums[r][s] += value;
                }
        for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 4
            for (int s = 0; s < SUMS; ++s) totals[r] += total(sums[r][s]);
    }
    for (; i < cols; ++i)
        for (int r = 0; r < ROWS; ++r) {
            const Vec value = exp_nonpositive(Vec{} + (x[r * cols + i] - tops[r]));
            y[r * cols + i] = value[0];
            totals[r] += value[0];
        }
}

template <int ROWS>
void softmax_of(const float* x, float* y, int64_t cols) {
    float tops[ROWS], scales[ROWS];
    double totals[ROWS] = {};
    find_tops<ROWS>(x, cols, tops);
    add_exponentials<ROWS>(x, y, cols, tops, totals);
    for (int r = 0; r < ROWS; ++r) scales[r] = static_cast<float>(DIVIDES ? totals[r] : 1.0 / totals[r]);
    int64_t i = 0;
    for (; i + LANES <= cols; i += LANES)
        for (int r = 0; r < ROWS; ++r) store(y + r * cols + i, scaled(load(y + r * cols + i), scales[r]));
    for (; i < cols; ++i)
        for (int r = 0; r < ROWS; ++r) y[r * cols + i] = scaled(y[r * cols + i], scales[r]);
}

}  // namespace

extern "C" void softmax(const float* x, float* y, int64_t rows, int64_t cols) {
    int64_t row = 0;
    for (; row + HEIGHT <= rows; row += HEIGHT) softmax_of<HEIGHT>(x + row * cols, y + row * cols, cols);
    for (; row < rows; ++row) softmax_of<1>(x + row * cols, y + row * cols, cols);
}
