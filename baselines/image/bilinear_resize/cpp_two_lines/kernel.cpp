// Bilinear interpolation between pixel centres (Press et al. 2007, section 3.6). Each pixel row is interpolated along
// itself once and kept for as long as results lie beside it; between two such lines, all is in whole vectors.
#include <algorithm>
#include <cmath>
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

// For each new pixel the ones before and behind it, and how far it is from the first of them to the second.
struct Places {
    std::vector<int32_t> first, second;
    std::vector<float> part;

    Places(int64_t size, int64_t new_size) : first(new_size), second(new_size), part(new_size) {
        const float scale = static_cast<float>(static_cast<double>(size) / static_cast<double>(new_size));
        for (int64_t i = 0; i < new_size; ++i) {
            const float place = (static_cast<float>(i) + 0.5f) * scale - 0.5f, before = std::floor(place);
            first[i] = std::clamp<int32_t>(static_cast<int32_t>(before), 0, static_cast<int32_t>(size) - 1);
            second[i] = std::clamp<int32_t>(static_cast<int32_t>(before) + 1, 0, static_cast<int32_t>(size) - 1);
            part[i] = place - before;
        }
    }
};

}  // namespace

extern "C" void bilinear_resize(const T* x, int64_t, int64_t, T* y, int64_t batch, int64_t channels, int64_t height,
                                int64_t width, int64_t out_height, int64_t out_width) {
    const Places down(height, out_height), across(width, out_width);
    const int32_t *first = across.first.data(), *second = across.second.data();
    const float* part = across.part.data();
    // The last vectors of a line may reach past its end.
    const int64_t pitch = (out_width + LANES - 1) / LANES * LANES;
    std::vector<float> scratch(2 * pitch + width + LANES);
    float *lines[2] = {scratch.data(), scratch.data() + pitch}, *wide = scratch.data() + 2 * pitch;
    for (int64_t plane = 0; plane < batch * channels; ++plane, x += height * width) {
        // The rows that the lines are of: an even one in the first, an odd one in the second.
        int64_t held[2] = {-1, -1};
        const auto line = [&](int64_t row) {
            float* to = lines[row % 2];
            if (held[row % 2] == row) return to;
            held[row % 2] = row;
            const T* from = x + row * width;
            int64_t col = 0;
            for (; col + LANES <= width; col += LANES) store(wide + col, load(from + col));
            for (; col < width; ++col) wide[col] = static_cast<float>(from[col]);
#pragma GCC ivdep
            for (int64_t i = 0; i < out_width; ++i) {
                const float left = wide[first[i]];
                to[i] = left + part[i] * (wide[second[i]] - left);
            }
            return to;
        };
        for (int64_t row = 0; row < out_height; ++row, y += out_width) {
            const float *above = line(down.first[row]), *below = line(down.second[row]), share = down.part[row];
            for (int64_t col = 0; col < out_width; col += LANES) {
                const Vec upper = load(above + col), result = upper + (load(below + col) - upper) * share;
                if (col + LANES <= out_width) {
                    store(y + col, result);
                } else {
                    T rest[LANES];
                    store(rest, result);
                    std::memcpy(y + col, rest, (out_width - col) * sizeof(T));
                }
            }
        }
    }
}
