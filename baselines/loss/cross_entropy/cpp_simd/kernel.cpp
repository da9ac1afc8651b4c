// Cross-entropy in two passes over each row: the maximum, then the sum of exp(logit - maximum) over all classes but the
// target. Leaving the target out lets log1p keep the loss exact where the target has nearly all the probability.
// exp follows Cody and Waite 1980: x = n ln 2 + r, a polynomial in r (minimax fit), and n put into the exponent.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
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

// Unaligned loads that widen to float.
inline Vec load(const float* p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline Vec load(const kbench_bfloat16* p) {
    Short high;
    std::memcpy(&high, p, sizeof high);
    return (Vec)(__builtin_convertvector(high, Bits) << 16);
}
#if defined(__AVX512F__)
inline Vec load(const kbench_half* p) { return _mm512_maskz_cvtph_ps(-1, _mm256_loadu_si256((const __m256i*)p)); }
#elif defined(__F16C__)
inline Vec load(const kbench_half* p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)p)); }
#else
template <class S>
inline Vec load(const S* p) {
    Vec v;
    for (int64_t i = 0; i < LANES; ++i) v[i] = static_cast<float>(p[i]);
    return v;
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

extern "C" void cross_entropy(const T* logits, const int64_t* target, T* loss, int64_t rows, int64_t classes) {
    const int64_t whole = classes / LANES * LANES, rest = classes - whole;
    Bits lane;
    for (int64_t i = 0; i < LANES; ++i) lane[i] = static_cast<uint32_t>(i);
    double losses = 0.0;
    for (int64_t row = 0; row < rows; ++row, logits += classes) {
        const Vec last = rest ? load_part(logits + whole, rest) : Vec{} - INFINITY;
        const float top = maximum(logits, classes, last);

        const int64_t hit = target[row] / LANES * LANES;  // start of the vector that holds the target
        const Vec held = hit < whole ? load(logits + hit) : last;
        Vec sums = lane == static_cast<uint32_t>(target[row] - hit) ? Vec{} : exp_nonpositive(held - top);
        const auto add = [&](int64_t from, int64_t to) {
            for (int64_t i = from; i < to;) {
                Vec part = {};  // equal terms round alike: a sum of short sums keeps that error small
                for (const int64_t end = std::min(to, i + 64 * LANES); i < end; i += LANES)
                    part += exp_nonpositive(load(logits + i) - top);
                sums += part;
            }
        };
        add(0, hit);
        add(hit + LANES, whole);
        if (rest && hit < whole) sums += exp_nonpositive(last - top);
        const float others = fold(sums, [](float a, float b) { return a + b; });

        const float shifted = static_cast<float>(logits[target[row]]) - top;
        losses += std::log1p(others + std::expm1(shifted)) - shifted;
    }
    *loss = T(static_cast<float>(losses / static_cast<double>(rows)));
}
