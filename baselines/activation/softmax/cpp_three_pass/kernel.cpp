// Softmax of each row in three passes: maximum, exp(x - maximum) with its sum, division. A row stays in cache between
// them. exp follows Cody and Waite 1980: x = n ln 2 + r, a polynomial in r (minimax fit), and n put into the exponent.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
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

// The last n < LANES elements of a row; the other lanes hold `fill`, or are not stored.
inline Vec load_part(const T* p, int64_t n, float fill) {
    T part[LANES];
    for (T& value : part) value = T(fill);
    std::memcpy(part, p, n * sizeof(T));
    return load(part);
}
template <class S>
inline void store_part(S* p, int64_t n, Vec v) {
    S part[LANES];
    store(part, v);
    std::memcpy(p, part, n * sizeof(S));
}

template <class Operation>
inline float fold(Vec v, Operation operation) {
    for (int64_t width = LANES / 2; width; width /= 2)
        for (int64_t i = 0; i < width; ++i) v[i] = operation(v[i], v[i + width]);
    return v[0];
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

}  // namespace

extern "C" void softmax(const T* x, T* y, int64_t rows, int64_t cols) {
    constexpr bool direct = std::is_same_v<T, float>;  // then y itself holds the exponentials until the division
    thread_local std::vector<float> scratch;
    if (!direct) scratch.resize(cols);
    for (int64_t row = 0; row < rows; ++row, x += cols, y += cols) {
        Vec tops[4];
        for (Vec& top : tops) top = Vec{} - INFINITY;
        const auto larger = [](auto a, auto b) { return a > b ? a : b; };
        int64_t i = 0;
        for (; i + 4 * LANES <= cols; i += 4 * LANES)
            for (int64_t u = 0; u < 4; ++u) tops[u] = larger(load(x + i + u * LANES), tops[u]);
        for (; i + LANES <= cols; i += LANES) tops[0] = larger(load(x + i), tops[0]);
        if (i < cols) tops[1] = larger(load_part(x + i, cols - i, -INFINITY), tops[1]);
        const float top = fold(larger(larger(tops[0], tops[1]), larger(tops[2], tops[3])), larger);

        float* exponential = direct ? reinterpret_cast<float*>(y) : scratch.data();
        Vec sums = {};
        for (i = 0; i + LANES <= cols;) {
            Vec part = {};  // equal terms round alike: a sum of short sums keeps that error small
            for (const int64_t end = i + 64 * LANES; i < end && i + LANES <= cols; i += LANES) {
                const Vec e = exp_nonpositive(load(x + i) - top);
                store(exponential + i, e);
                part += e;
            }
            sums += part;
        }
        if (i < cols) {
            const Vec e = exp_nonpositive(load_part(x + i, cols - i, -INFINITY) - top);
            store_part(exponential + i, cols - i, e);
            sums += e;
        }
        const float factor = 1.0f / fold(sums, [](float a, float b) { return a + b; });
        for (i = 0; i + LANES <= cols; i += LANES) store(y + i, load(exponential + i) * factor);
        for (; i < cols; ++i) y[i] = T(exponential[i] * factor);
    }
}
