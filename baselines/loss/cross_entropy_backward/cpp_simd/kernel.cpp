// Gradient of the mean cross-entropy in three passes over each row: maximum, exp(logit - maximum) with the sum over all
// classes but the target, scaling. That sum gives the target's p - 1 without the cancellation of the subtraction.
// exp follows Cody and Waite 1980: x = n ln 2 + r, a polynomial in r (minimax fit), and n put into the exponent.
#include <algorithm>
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

// The last n < LANES elements of a row; the other lanes hold minus infinity, whose exponential is zero.
inline Vec load_part(const T* p, int64_t n) {
    T part[LANES];
    for (T& value : part) value = T(-INFINITY);
    std::memcpy(part, p, n * sizeof(T));
    return load(part);
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

// The largest of n values; `last` holds those behind the last whole vector.
inline float maximum(const T* x, int64_t n, Vec last) {
    const auto larger = [](auto a, auto b) { return a > b ? a : b; };
    Vec tops[4] = {last, last, last, last};
    int64_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        for (int64_t u = 0; u < 4; ++u) tops[u] = larger(load(x + i + u * LANES), tops[u]);
    for (; i + LANES <= n; i += LANES) tops[0] = larger(load(x + i), tops[0]);
    return fold(larger(larger(tops[0], tops[1]), larger(tops[2], tops[3])), larger);
}

}  // namespace

extern "C" void cross_entropy_backward(const T* grad_loss, const T* logits, const int64_t* target, T* grad_logits,
                                       int64_t rows, int64_t classes) {
    constexpr bool direct = std::is_same_v<T, float>;  // then grad_logits itself holds the exponentials
    const int64_t whole = classes / LANES * LANES, rest = classes - whole;
    thread_local std::vector<float> scratch;
    if (!direct) scratch.resize(classes);
    Bits lane;
    for (int64_t i = 0; i < LANES; ++i) lane[i] = static_cast<uint32_t>(i);
    for (int64_t row = 0; row < rows; ++row, logits += classes, grad_logits += classes) {
        const Vec last = rest ? load_part(logits + whole, rest) : Vec{} - INFINITY;
        const float top = maximum(logits, classes, last);

        float* exponential = direct ? reinterpret_cast<float*>(grad_logits) : scratch.data();
        const auto keep = [&](int64_t i) {
            const Vec e = exp_nonpositive(load(logits + i) - top);
            store(exponential + i, e);
            return e;
        };
        const int64_t hit = target[row] / LANES * LANES;  // start of the vector that holds the target
        const Vec e_last = exp_nonpositive(last - top);
        for (int64_t i = 0; i < rest; ++i) exponential[whole + i] = e_last[i];
        Vec sums = lane == static_cast<uint32_t>(target[row] - hit) ? Vec{} : hit < whole ? keep(hit) : e_last;
        const auto add = [&](int64_t from, int64_t to) {
            for (int64_t i = from; i < to;) {
                Vec part = {};  // equal terms round alike: a sum of short sums keeps that error small
                for (const int64_t end = std::min(to, i + 64 * LANES); i < end; i += LANES) part += keep(i);
                sums += part;
            }
        };
        add(0, hit);
        add(hit + LANES, whole);
        if (rest && hit < whole) sums += e_last;
        const float others = fold(sums, [](float a, float b) { return a + b; });

        const float upstream = static_cast<float>(*grad_loss) / static_cast<float>(rows);
        const float factor = upstream / (others + exponential[target[row]]);
        for (int64_t i = 0; i < whole; i += LANES) store(grad_logits + i, load(exponential + i) * factor);
        for (int64_t i = whole; i < classes; ++i) grad_logits[i] = T(exponential[i] * factor);
        grad_logits[target[row]] = T(-others * factor);
    }
}
