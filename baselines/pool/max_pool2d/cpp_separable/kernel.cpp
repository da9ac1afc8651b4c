// Max pooling as a maximum over rows, then over columns: each input row is loaded in whole vectors, and a square window
// costs 2 (window - 1) comparisons. At step 2 a shuffle of two vectors takes every other column.
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

// The greater of two, NaN when either is NaN.
inline Vec greater(Vec a, Vec b) { return (a > b) | (a != a) ? a : b; }

// The last n < LANES elements of a row; the other lanes hold zero, or are not stored.
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

// LANES values from p on, `step` apart.
inline Vec load_apart(const float* p, int64_t step) {
    if (step == 1) return load(p);
    Vec v;
    if (step == 2) {
        Bits even;
        for (int64_t i = 0; i < LANES; ++i) even[i] = static_cast<uint32_t>(2 * i);
        return __builtin_shuffle(load(p), load(p + LANES), even);
    }
    for (int64_t i = 0; i < LANES; ++i) v[i] = p[i * step];
    return v;
}

}  // namespace

extern "C" void max_pool2d(const T* x, int64_t kernel_size, int64_t stride, T* y, int64_t batch, int64_t channels,
                           int64_t height, int64_t width, int64_t, int64_t) {
    const int64_t out_height = (height - kernel_size) / stride + 1, out_width = (width - kernel_size) / stride + 1;
    const int64_t whole = width / LANES * LANES, rest = width - whole;
    thread_local std::vector<float> scratch;
    scratch.resize(width + (stride + 1) * LANES + kernel_size);  // the last vector of a row may reach past its end
    float* tallest = scratch.data();
    for (int64_t plane = 0; plane < batch * channels; ++plane, x += height * width)
        for (int64_t row = 0; row < out_height; ++row, y += out_width) {
            const T* first = x + row * stride * width;
            for (int64_t i = 0; i < whole; i += LANES) {
                Vec top = load(first + i);
                for (int64_t u = 1; u < kernel_size; ++u) top = greater(load(first + u * width + i), top);
                store(tallest + i, top);
            }
            if (rest) {
                Vec top = load_part(first + whole, rest);
                for (int64_t u = 1; u < kernel_size; ++u)
                    top = greater(load_part(first + u * width + whole, rest), top);
                store(tallest + whole, top);
            }
            for (int64_t j = 0; j < out_width; j += LANES) {
                Vec top = load_apart(tallest + j * stride, stride);
                for (int64_t u = 1; u < kernel_size; ++u)
                    top = greater(load_apart(tallest + j * stride + u, stride), top);
                if (j + LANES <= out_width)
                    store(y + j, top);
                else
                    store_part(y + j, out_width - j, top);
            }
        }
}
