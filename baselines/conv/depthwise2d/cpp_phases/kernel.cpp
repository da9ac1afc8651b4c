// Depthwise convolution, one plane at a time. It is widened into a scratch image with its margins, columns sorted by
// their remainder modulo the stride: then whatever the stride, neighbouring outputs read neighbouring inputs, in whole
// vectors.
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

}  // namespace

extern "C" void depthwise2d(const T* x, const T* weight, const T* bias, int64_t stride, int64_t padding, T* y,
                            int64_t batch, int64_t channels, int64_t height, int64_t width, int64_t kh, int64_t kw,
                            int64_t, int64_t) {
    constexpr int64_t WIDE = 2 * LANES;  // outputs at a time
    const int64_t out_height = (height + 2 * padding - kh) / stride + 1;
    const int64_t out_width = (width + 2 * padding - kw) / stride + 1;
    // The last vectors of a row may reach past its end.
    const int64_t pitch = (width + 2 * padding) / stride + kw + WIDE, line = stride * pitch;
    thread_local std::vector<float> image;
    image.assign((height + 2 * padding) * line, 0.0f);  // [row][column % stride][column / stride]
    for (int64_t plane = 0; plane < batch * channels; ++plane) {
        for (int64_t row = 0; row < height; ++row, x += width) {
            float* to = image.data() + (row + padding) * line;
            if (stride == 1) {
                int64_t col = 0;
                for (; col + LANES <= width; col += LANES) store(to + padding + col, load(x + col));
                for (; col < width; ++col) to[padding + col] = static_cast<float>(x[col]);
            } else {
                for (int64_t phase = 0; phase < stride; ++phase) {
                    // The first column of this phase that lies in the image.
                    const int64_t first = padding + (phase - padding % stride + stride) % stride;
                    float* part = to + phase * pitch + first / stride;
                    for (int64_t col = first - padding; col < width; col += stride) *part++ = float(x[col]);
                }
            }
        }
        const T* filter = weight + plane % channels * kh * kw;
        const float offset = static_cast<float>(bias[plane % channels]);
        for (int64_t row = 0; row < out_height; ++row, y += out_width) {
            const float* top = image.data() + row * stride * line;
            for (int64_t col = 0; col < out_width; col += WIDE) {
                Vec low = Vec{} + offset, high = low;
                for (int64_t u = 0; u < kh; ++u)
                    for (int64_t v = 0; v < kw; ++v) {
                        const float tap = static_cast<float>(filter[u * kw + v]);
                        const float* from = top + u * line + v % stride * pitch + v / stride + col;
                        low += load(from) * tap;
                        high += load(from + LANES) * tap;
                    }
                T part[WIDE];
                store(part, low);
                store(part + LANES, high);
                std::memcpy(y + col, part, (col + WIDE <= out_width ? WIDE : out_width - col) * sizeof(T));
            }
        }
    }
}
