// Gradient of root-mean-square normalisation in two passes over each row: the sums of x^2 and of grad_y * weight * x,
// then both gradients. The gradient of the weight is summed over the rows in float, one accumulator for each column.
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

inline float total(Vec v) {
    for (int64_t width = LANES / 2; width; width /= 2)
        for (int64_t i = 0; i < width; ++i) v[i] += v[i + width];
    return v[0];
}

}  // namespace

extern "C" void rmsnorm_backward(const T* grad_y, const T* x, const T* weight, T* grad_x, T* grad_weight, int64_t rows,
                                 int64_t cols) {
    const float count = static_cast<float>(cols);
    const int64_t whole = cols / LANES * LANES, rest = cols - whole;
    const Vec last_weight = rest ? load_part(weight + whole, rest) : Vec{};
    thread_local std::vector<float> scratch;
    scratch.assign(whole + LANES, 0.0f);
    float* column_sums = scratch.data();
    for (int64_t row = 0; row < rows; ++row, grad_y += cols, x += cols, grad_x += cols) {
        Vec squares[2] = {}, products[2] = {};
        const auto add = [&](Vec value, Vec gradient, int64_t u) {
            squares[u] += value * value;
            products[u] += value * gradient;
        };
        int64_t i = 0;
        for (; i + 2 * LANES <= cols; i += 2 * LANES)
            for (int64_t u = 0; u < 2; ++u) {
                const int64_t at = i + u * LANES;
                add(load(x + at), load(grad_y + at) * load(weight + at), u);
            }
        if (i < whole) add(load(x + i), load(grad_y + i) * load(weight + i), 0);
        const Vec last_x = rest ? load_part(x + whole, rest) : Vec{};
        const Vec last_grad = rest ? load_part(grad_y + whole, rest) : Vec{};
        add(last_x, last_grad * last_weight, 1);

        const float scale = 1.0f / std::sqrt(total(squares[0] + squares[1]) / count + 1e-6f);
        const float slope = total(products[0] + products[1]) / count * scale * scale;
        const auto finish = [&](Vec value, Vec gradient, Vec factor, float* column_sum) {
            store(column_sum, load(column_sum) + gradient * (value * scale));
            return (gradient * factor - value * slope) * scale;
        };
        for (i = 0; i < whole; i += LANES)
            store(grad_x + i, finish(load(x + i), load(grad_y + i), load(weight + i), column_sums + i));
        if (rest) store_part(grad_x + whole, rest, finish(last_x, last_grad, last_weight, column_sums + whole));
    }
    for (int64_t i = 0; i < whole; i += LANES) store(grad_weight + i, load(column_sums + i));
    if (rest) store_part(grad_weight + whole, rest, load(column_sums + whole));
}
