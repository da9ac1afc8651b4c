// Five-point stencil, y = x + rate (up + down + left + right - 4 x) inside of each grid (Datta et al. 2008, section 2).
// Whole vectors at a time: their five loads overlap those of their neighbours and are served by the caches.
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

inline Vec step(Vec here, Vec vertical, Vec horizontal, float rate) {
    return here + (vertical + horizontal - here * 4.0f) * rate;
}

}  // namespace

extern "C" void stencil2d(const T* x, double rate, T* y, int64_t batch, int64_t height, int64_t width) {
    const float factor = static_cast<float>(rate);
    for (int64_t line = 0; line < batch * height; ++line, x += width, y += width) {
        const int64_t row = line % height;
        if (row == 0 || row == height - 1 || width < 3) {
            std::memcpy(y, x, width * sizeof(T));
            continue;
        }
        if (width < LANES + 2) {
            // As many columns as there are in the lanes of one vector; the others have zeros.
            T around[5][LANES] = {};
            const int64_t shifts[] = {0, -width, width, -1, 1}, inner = width - 2;
            for (int i = 0; i < 5; ++i) std::memcpy(around[i], x + 1 + shifts[i], inner * sizeof(T));
            T part[LANES];
            store(part, step(load(around[0]), load(around[1]) + load(around[2]), load(around[3]) + load(around[4]),
                             factor));
            std::memcpy(y + 1, part, inner * sizeof(T));
        } else {
            // The last vector of a row ends with its last inner column, and overlaps the one before.
            for (int64_t start = 1; start < width - 1; start += LANES) {
                const T* from = x + std::min(start, width - 1 - LANES);
                store(y + (from - x), step(load(from), load(from - width) + load(from + width),
                                           load(from - 1) + load(from + 1), factor));
            }
        }
        y[0] = x[0];
        y[width - 1] = x[width - 1];
    }
}
