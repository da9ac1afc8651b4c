// Gradient of layer normalisation (Ba, Kiros and Hinton 2016), a row at a time: its mean and scale with the corrected
// two-pass variance (Chan, Golub and LeVeque 1983), two sums with the gradient, and the result. What is summed over the
// rows is kept in float for a block of them, and in double over all.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>
#ifdef __F16C__
#include <immintrin.h>
#endif

namespace {

using T = KBENCH_T;
#ifdef __AVX512F__
constexpr int64_t LANES = 16;
#else
constexpr int64_t LANES = 8;
#endif
typedef float Vec __attribute__((vector_size(4 * LANES)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
typedef uint16_t Short __attribute__((vector_size(2 * LANES)));

// Unaligned loads that widen to float, and stores that round to nearest even.
inline Vec load(const float* p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
inline Vec load(const kbench_bfloat16* p) {
    Short high;
    std::memcpy(&high, p, sizeof high);
    return (Vec)(__builtin_convertvector(high, Bits) << 16);
}
inline void store(kbench_bfloat16* p, Vec v) {
    const Bits word = (Bits)v, rounded = word + 0x7fff + ((word >> 16) & 1);
    const Short high = __builtin_convertvector((v == v ? rounded : (word | 0x400000)) >> 16, Short);
    std::memcpy(p, &high, sizeof high);
}
#if defined(__AVX512F__)
inline Vec load(const kbench_half* p) { return _mm512_maskz_cvtph_ps(-1, _mm256_loadu_si256((const __m256i*)p)); }
inline void store(kbench_half* p, Vec v) { _mm256_storeu_si256((__m256i*)p, _mm512_maskz_cvtps_ph(-1, v, 0)); }
#elif defined(__F16C__)
inline Vec load(const kbench_half* p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)); }
inline void store(kbench_half* p, Vec v) { _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph(v, 0)); }
#else
template <class S>
inline Vec load(const S* p) {
    Vec v;
    for (int64_t i = 0; i < LANES; ++i) v[i] = static_cast<float>(p[i]);
    return v;
}
template <class S>
inline void store(S* p, Vec v) {
    for (int64_t i = 0; i < LANES; ++i) p[i] = S(v[i]);
}
#endif

// The last n < LANES elements of a row; the other lanes hold zero, or are not stored.
inline Vec load_part(const T* p, int64_t n) {
    T part[LANES] = {};
    std::memcpy(part, p, n * sizeof(T));
    return load(part);
}
inline void store_part(T* p, int64_t n, Vec v) {
    T part[LANES];
    store(part, v);
    std::memcpy(p, part, n * sizeof(T));
}

constexpr int64_t ROWS = 64;

inline float total(Vec v) {
    for (int64_t width = LANES / 2; width; width /= 2)
        for (int64_t i = 0; i < width; ++i) v[i] += v[i + width];
    return v[0];
}

// Sums over a block of rows, for each column, and over the blocks before it.
struct Columns {
    std::vector<float> block;
    std::vector<double> all;

    explicit Columns(int64_t cols) : block(cols + LANES), all(cols) {}
    void add(int64_t col, Vec value) { store(&block[col], load(&block[col]) + value); }
    void end_block() {
        for (size_t col = 0; col < all.size(); ++col) all[col] += block[col];
        std::fill(block.begin(), block.end(), 0.0f);
    }
    void write(T* out) const {
        for (size_t col = 0; col < all.size(); ++col) out[col] = static_cast<float>(all[col]);
    }
};

}  // namespace

extern "C" void layernorm_backward(const T* grad_y, const T* x, const T* weight, T* grad_x, T* grad_weight, T* grad_bias,
                                   int64_t rows, int64_t cols) {
    const float count = static_cast<float>(cols);
    const int64_t whole = cols / LANES * LANES, rest = cols - whole;
    Bits lane;
    for (int64_t i = 0; i < LANES; ++i) lane[i] = static_cast<uint32_t>(i);
    const auto inside = lane < static_cast<uint32_t>(rest);
    const Vec last_weight = rest ? load_part(weight + whole, rest) : Vec{};
    Columns weight_sums(cols), bias_sums(cols);
    for (int64_t row = 0; row < rows; ++row, grad_y += cols, x += cols, grad_x += cols) {
        Vec sums[4] = {};
        int64_t i = 0;
        for (; i + 4 * LANES <= cols; i += 4 * LANES)
            for (int64_t u = 0; u < 4; ++u) sums[u] += load(x + i + u * LANES);
        for (; i < whole; i += LANES) sums[0] += load(x + i);
        const Vec last_x = rest ? load_part(x + whole, rest) : Vec{};
        const Vec last_grad = rest ? load_part(grad_y + whole, rest) : Vec{};
        const float mean = total(((sums[0] + sums[1]) + (sums[2] + sums[3])) + last_x) / count;

        Vec deviations[2] = {}, squares[2] = {};
        const auto add = [&](Vec deviation, int64_t u) {
            deviations[u] += deviation;
            squares[u] += deviation * deviation;
        };
        for (i = 0; i + 2 * LANES <= cols; i += 2 * LANES)
            for (int64_t u = 0; u < 2; ++u) add(load(x + i + u * LANES) - mean, u);
        if (i < whole) add(load(x + i) - mean, 0);
        add(inside ? last_x - mean : Vec{}, 1);
        const float correction = total(deviations[0] + deviations[1]) / count;
        const float variance = total(squares[0] + squares[1]) / count - correction * correction;
        const float scale = 1.0f / std::sqrt(variance + 1e-5f);

        const auto normalise = [&](Vec value) { return ((value - mean) - correction) * scale; };
        Vec firsts[2] = {}, seconds[2] = {};
        const auto project = [&](Vec normed, Vec grad, Vec factor, int64_t col, int64_t u) {
            weight_sums.add(col, grad * normed);
            bias_sums.add(col, grad);
            firsts[u] += grad * factor;
            seconds[u] += grad * factor * normed;
        };
        for (i = 0; i < whole; i += LANES)
            project(normalise(load(x + i)), load(grad_y + i), load(weight + i), i, i / LANES % 2);
        const Vec last_normed = inside ? normalise(last_x) : Vec{};
        if (rest) project(last_normed, last_grad, last_weight, whole, 0);
        const float first = total(firsts[0] + firsts[1]) / count;
        const float second = total(seconds[0] + seconds[1]) / count;

        const auto finish = [&](Vec normed, Vec grad, Vec factor) {
            return ((grad * factor - first) - normed * second) * scale;
        };
        for (i = 0; i < whole; i += LANES)
            store(grad_x + i, finish(normalise(load(x + i)), load(grad_y + i), load(weight + i)));
        if (rest) store_part(grad_x + whole, rest, finish(last_normed, last_grad, last_weight));
        if (row % ROWS == ROWS - 1 || row == rows - 1) {
            weight_sums.end_block();
            bias_sums.end_block();
        }
    }
    weight_sums.write(grad_weight);
    bias_sums.write(grad_bias);
}
