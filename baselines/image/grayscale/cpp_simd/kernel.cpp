// Luma, 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601), a vector of each plane at a time, in float32 up to the
// store.
#include <cstdint>
#include <cstring>
#ifdef __F16C__
#include <immintrin.h>
#endif
// No product is fused with a sum, see below.
#pragma GCC optimize("fp-contract=off")

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

// Where colours cancel, rounding errors are all there is to see. Products of halves and these quotients have none;
// those of floats are rounded before they are added, for a fused product would leave the rounding errors of the others.
constexpr bool EXACT = sizeof(T) == 2;
constexpr float RED = EXACT ? 299.0f / 1024.0f : 0.299f, GREEN = EXACT ? 587.0f / 1024.0f : 0.587f;
constexpr float BLUE = EXACT ? 114.0f / 1024.0f : 0.114f, SCALE = EXACT ? 1.024f : 1.0f;

inline Vec luma(Vec red, Vec green, Vec blue) { return (red * RED + green * GREEN + blue * BLUE) * SCALE; }

}  // namespace

extern "C" void grayscale(const T* x, T* y, int64_t batch, int64_t height, int64_t width) {
    const int64_t size = height * width, whole = size / LANES * LANES, rest = size - whole;
    for (int64_t image = 0; image < batch; ++image, x += 3 * size, y += size) {
        const T *green = x + size, *blue = x + 2 * size;
        for (int64_t i = 0; i < whole; i += LANES) store(y + i, luma(load(x + i), load(green + i), load(blue + i)));
        if (rest)
            store_part(y + whole, rest, luma(load_part(x + whole, rest), load_part(green + whole, rest),
                                             load_part(blue + whole, rest)));
    }
}
