// Combination of experts (Gale et al. 2022, section 5.2): a few vectors of a token's sum stay in registers while its
// rows are added, so that the result is written once. Rows lie anywhere: those of a later token are fetched ahead.
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

// result[VECTORS * LANES] = sum over j of weight[j] * x[place[j]], from column `col` on.
template <int VECTORS>
inline void combine(const T* x, const int64_t* place, const T* weight, int64_t chosen, int64_t width, int64_t col,
                    T* result) {
    Vec sums[VECTORS] = {};
    for (int64_t j = 0; j < chosen; ++j) {
        const T* row = x + place[j] * width + col;
        const float factor = static_cast<float>(weight[j]);
        for (int v = 0; v < VECTORS; ++v) sums[v] += load(row + v * LANES) * factor;
    }
    for (int v = 0; v < VECTORS; ++v) store(result + v * LANES, sums[v]);
}

// Hardware follows a row once it has seen its first lines: these are asked for before they are needed.
constexpr int64_t AHEAD = 4, LINE = 64 / sizeof(T), LINES = 4;

}  // namespace

extern "C" void unpermute(const T* x, const int64_t* place, const T* weight, T* y, int64_t tokens, int64_t chosen,
                          int64_t width) {
    for (int64_t token = 0; token < tokens; ++token, place += chosen, weight += chosen, y += width) {
        if (token + AHEAD < tokens)
            for (int64_t j = 0; j < chosen; ++j) {
                const T* row = x + place[AHEAD * chosen + j] * width;
                for (int64_t line = 0; line < LINES && line * LINE < width; ++line)
                    __builtin_prefetch(row + line * LINE);
            }
        int64_t col = 0;
        for (; col + 4 * LANES <= width; col += 4 * LANES) combine<4>(x, place, weight, chosen, width, col, y + col);
        for (; col + LANES <= width; col += LANES) combine<1>(x, place, weight, chosen, width, col, y + col);
        if (col == width) continue;
        Vec sum = {};
        for (int64_t j = 0; j < chosen; ++j)
            sum += load_part(x + place[j] * width + col, width - col) * static_cast<float>(weight[j]);
        store_part(y + col, width - col, sum);
    }
}
