// Rotary embedding of halves, as GPT-NeoX pairs them (Su et al. 2021, eq. 34), a vector of each half at a time. All
// heads of a token use the same rows of the tables, which stay in the first-level cache.
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

// The last n < LANES elements of a half; the other lanes hold zero, or are not stored.
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

}  // namespace

extern "C" void rope_neox(const T* x, const int64_t* position, const T* cos, const T* sin, T* y, int64_t tokens,
                          int64_t heads, int64_t half, int64_t) {
    const int64_t whole = half / LANES * LANES, rest = half - whole;
    for (int64_t token = 0; token < tokens; ++token) {
        const T *c = cos + position[token] * half, *s = sin + position[token] * half;
        for (int64_t head = 0; head < heads; ++head, x += 2 * half, y += 2 * half) {
            for (int64_t i = 0; i < whole; i += LANES) {
                const Vec a = load(x + i), b = load(x + half + i), cosine = load(c + i), sine = load(s + i);
                store(y + i, a * cosine - b * sine);
                store(y + half + i, b * cosine + a * sine);
            }
            if (rest == 0) continue;
            const Vec a = load_part(x + whole, rest), b = load_part(x + half + whole, rest);
            const Vec cosine = load_part(c + whole, rest), sine = load_part(s + whole, rest);
            store_part(y + whole, rest, a * cosine - b * sine);
            store_part(y + half + whole, rest, b * cosine + a * sine);
        }
    }
}
