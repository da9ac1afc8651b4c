// GELU (Hendrycks and Gimpel 2016, eq. 1), a vector at a time: x Phi(x), where Phi(-t) = exp(-t^2 / 2) u p(u) with
// u = 1 / (1 + 0.3 t) for t >= 0 (the form of Abramowitz and Stegun, 26.2.17; minimax fit), which keeps the tail that
// 1 + erf would cancel. exp follows Cody and Waite 1980: x = n ln 2 + r, a polynomial in r (minimax fit), and n put
// into the exponent.
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

// exp(x - d) within 1.1 ulp, for -87.4 < x - d <= 0 and a small d.
inline Vec exponential(Vec x, Vec d) {
    // 1.5 * 2^23 pushes the fraction out: the low bits hold n.
    const Vec shifted = (x - d) * 1.44269504f + 12582912.0f;
    const Vec n = shifted - 12582912.0f;
    const Vec r = ((x - n * 0.693359375f) - n * -2.12194440e-4f) - d;
    Vec q = r * 0x1.6a23dp-10f + 0x1.123a2p-7f;
    q = q * r + 0x1.5558f2p-5f;
    q = q * r + 0x1.555492p-3f;
    q = q * r + 0x1.fffffcp-2f;
    return (Vec)((Bits)(q * r * r + r + 1.0f) + ((Bits)shifted << 23));
}

inline Vec gated(Vec x) {
    const Vec size = (Vec)((Bits)x & 0x7fffffffu);
    const Vec t = size > 13.2f ? Vec{} + 13.2f : size;  // x Phi(x) is subnormal beyond
    const Vec u = 1.0f / (t * 0.3f + 1.0f);
    Vec p = u * -0x1.51429ap-6f + 0x1.cba496p-4f;
    p = p * u - 0x1.d24a24p-3f;
    p = p * u + 0x1.8741b4p-3f;
    p = p * u - 0x1.42ad84p-4f;
    p = p * u + 0x1.885f16p-4f;
    p = p * u + 0x1.419ff4p-4f;
    p = p * u + 0x1.c366eep-4f;
    p = p * u + 0x1.e9c81ep-4f;
    p = p * u + 0x1.ea3c60p-4f;
    // The square in two parts: what is rounded off t^2 would be off by 87 times as much in the exponential.
    const Vec high = (Vec)((Bits)t & 0xfffff000u), low = t - high;
    const Vec tail = exponential(high * high * -0.5f, low * (high + low * 0.5f)) * (p * u);
    const Vec phi = x > 0.0f ? 1.0f - tail : tail;
    // Around zero a polynomial in x^2, off by 0.005 ulp, spares the roundings of a product with an exponential.
    const Vec z = x * x;
    Vec q = z * -0x1.f93698p-18f + 0x1.da890ap-14f;
    q = q * z - 0x1.36e5b6p-10f;
    q = q * z + 0x1.46cd00p-7f;
    q = q * z - 0x1.10582ap-4f;
    q = q * z + 0x1.988454p-2f;
    return x * (size < 1.0f ? x * q + 0.5f : x < -13.2f ? Vec{} : phi);
}

}  // namespace

extern "C" void gelu(const T* x, T* y, int64_t rows, int64_t cols) {
    const int64_t count = rows * cols, whole = count / LANES * LANES, rest = count - whole;
    for (int64_t i = 0; i < whole; i += LANES) store(y + i, gated(load(x + i)));
    if (rest) store_part(y + whole, rest, gated(load_part(x + whole, rest)));
}
