// Symmetric quantisation of each token to eight bits (Dettmers et al. 2022, section 2), with a power of two as scale,
// in two passes over each row, which stays in cache between them.
#include <algorithm>
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
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint8_t Bytes __attribute__((vector_size(LANES)));

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

// The last n < LANES elements; the other lanes hold zero.
inline Vec load_part(const T* p, int64_t n) {
    T part[LANES] = {};
    std::memcpy(part, p, n * sizeof(T));
    return load(part);
}

inline float from_bits(int32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline Bytes codes_of(Vec v, float inverse) {
    // The product with a power of two is exact, or so small that its code is zero. 1.5 * 2^23 pushes the fraction out,
    // rounded to nearest even: the low bits hold the integer.
    const Vec shifted = v * inverse + 12582912.0f;
    return __builtin_convertvector(((Ints)shifted + 128) & 255, Bytes);
}

}  // namespace

extern "C" void int8_per_token(const T* x, uint8_t* codes, float* scale, int64_t tokens, int64_t width) {
    const int64_t whole = width / LANES * LANES, rest = width - whole;
    for (int64_t token = 0; token < tokens; ++token, x += width, codes += width) {
        // Magnitudes compare as the integers that their bits are.
        const auto larger = [](Ints a, Vec v) {
            const Ints b = (Ints)v & 0x7fffffff;
            return a > b ? a : b;
        };
        Ints tops[4] = {};
        int64_t i = 0;
        for (; i + 4 * LANES <= width; i += 4 * LANES)
            for (int64_t u = 0; u < 4; ++u) tops[u] = larger(tops[u], load(x + i + u * LANES));
        for (; i < whole; i += LANES) tops[0] = larger(tops[0], load(x + i));
        if (rest) tops[1] = larger(tops[1], load_part(x + i, rest));
        int32_t top = 0;
        for (const Ints& part : tops)
            for (int64_t lane = 0; lane < LANES; ++lane) top = part[lane] > top ? part[lane] : top;
        // A fraction above that of 127, which is 0x7e0000, carries over into the biased exponent; six less than that
        // is a seventh, and the bias.
        const int32_t exponent = top == 0 ? 127 : std::max(((top + 0x1ffff) >> 23) - 6, 1);
        scale[token] = from_bits(exponent << 23);
        const float inverse = from_bits((254 - exponent) << 23);
        for (i = 0; i < whole; i += LANES) {
            const Bytes part = codes_of(load(x + i), inverse);
            std::memcpy(codes + i, &part, sizeof part);
        }
        if (rest) {
            const Bytes part = codes_of(load_part(x + i, rest), inverse);
            std::memcpy(codes + i, &part, rest);
        }
    }
}
