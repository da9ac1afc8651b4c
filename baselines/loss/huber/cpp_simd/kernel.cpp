// Mean Huber loss (Huber 1964) in whole vectors, with b (d - b / 2), b = min(d, 1): d^2 / 2 up to one, d - 1/2 beyond.
// Four float32 accumulators hide the latency of an addition; every few thousand terms they are emptied into float64, so
// that equal terms do not round alike for long.
#include <algorithm>
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
constexpr int64_t UNROLL = 4, STRETCH = 64 * UNROLL * LANES;
typedef float Vec __attribute__((vector_size(4 * LANES)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
typedef uint16_t Short __attribute__((vector_size(2 * LANES)));

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

inline Vec terms(Vec prediction, Vec target) {
    const Vec distance = (Vec)((Bits)(prediction - target) & 0x7fffffffu);
    const Vec bounded = distance < 1.0f ? distance : Vec{} + 1.0f;
    return bounded * (distance - 0.5f * bounded);
}

}  // namespace

extern "C" void huber(const T* prediction, const T* target, T* loss, int64_t rows, int64_t cols) {
    const int64_t size = rows * cols;
    double total = 0.0;
    for (int64_t i = 0; i < size;) {
        Vec sums[UNROLL] = {};
        const int64_t end = std::min(size, i + STRETCH);
        for (; i + UNROLL * LANES <= end; i += UNROLL * LANES)
            for (int64_t u = 0; u < UNROLL; ++u)
                sums[u] += terms(load(prediction + i + u * LANES), load(target + i + u * LANES));
        for (; i + LANES <= end; i += LANES) sums[0] += terms(load(prediction + i), load(target + i));
        if (i < end) sums[1] += terms(load_part(prediction + i, end - i), load_part(target + i, end - i));
        i = end;
        const Vec sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        for (int64_t lane = 0; lane < LANES; ++lane) total += sum[lane];
    }
    *loss = T(static_cast<float>(total / static_cast<double>(size)));
}
