// Swish (Ramachandran, Zoph and Le 2017), x / (1 + exp(-x)), a vector at a time. exp follows Cody and Waite 1980:
// x = n ln 2 + r, a polynomial in r (minimax fit), and n put into the exponent.
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

// The last n < LANES elements; the other lanes hold zero, or are not stored.
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

// exp(x) within 1.1 ulp; infinity above 88.72, and below -87 as at -87, which is nothing beside one.
inline Vec exponential(Vec x) {
    const Vec low = Vec{} - 87.0f, high = Vec{} + 88.72f;
    const Vec bounded = x < low ? low : (x > high ? high : x);
    // 1.5 * 2^23 pushes the fraction out: the low bits hold n.
    const Vec shifted = bounded * 1.44269504f + 12582912.0f;
    const Vec n = shifted - 12582912.0f;
    const Vec r = (bounded - n * 0.693359375f) - n * -2.12194440e-4f;
    Vec q = r * 0x1.6a23dp-10f + 0x1.123a2p-7f;
    q = q * r + 0x1.5558f2p-5f;
    q = q * r + 0x1.555492p-3f;
    q = q * r + 0x1.fffffcp-2f;
    const Vec result = (Vec)((Bits)(q * r * r + r + 1.0f) + ((Bits)shifted << 23));
    return x > high ? Vec{} + INFINITY : result;
}

// Below -88.72 it gives -0: what is lost is less than 3e-37.
inline Vec swished(Vec x) { return x / (exponential(-x) + 1.0f); }

}  // namespace

extern "C" void swish(const T* x, T* y, int64_t rows, int64_t cols) {
    const int64_t count = rows * cols, whole = count / LANES * LANES, rest = count - whole;
    for (int64_t i = 0; i < whole; i += LANES) store(y + i, swished(load(x + i)));
    if (rest) store_part(y + whole, rest, swished(load_part(x + whole, rest)));
}
