// Group normalisation (Wu and He 2018) with the corrected two-pass variance (Chan, Golub and LeVeque 1983): the sum of the
// deviations, zero but for rounding, repairs the mean. A group may hold millions of elements: blocks of them are added up
// in float, and the blocks in double.
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

constexpr int64_t BLOCK = 256 * LANES;

inline double total(Vec v) {
    double sum = 0.0;
    for (int64_t i = 0; i < LANES; ++i) sum += v[i];
    return sum;
}

}  // namespace

extern "C" void group_norm(const T* x, int64_t num_groups, const T* weight, const T* bias, T* y, int64_t batch,
                           int64_t groups, int64_t depth, int64_t height, int64_t width) {
    (void)groups;
    const int64_t plane = height * width, count = depth * plane, rest = count % LANES;
    Bits lane;
    for (int64_t i = 0; i < LANES; ++i) lane[i] = static_cast<uint32_t>(i);
    const auto inside = lane < static_cast<uint32_t>(rest);
    for (int64_t group = 0; group < batch * num_groups; ++group, x += count) {
        double sum = 0.0;
        for (int64_t start = 0; start < count; start += BLOCK) {
            const T* block = x + start;
            const int64_t size = std::min(BLOCK, count - start), whole = size / LANES * LANES;
            Vec sums[4] = {};
            int64_t i = 0;
            for (; i + 4 * LANES <= size; i += 4 * LANES)
                for (int64_t u = 0; u < 4; ++u) sums[u] += load(block + i + u * LANES);
            for (; i < whole; i += LANES) sums[0] += load(block + i);
            if (whole < size) sums[1] += load_part(block + whole, rest);
            sum += total((sums[0] + sums[1]) + (sums[2] + sums[3]));
        }
        const float mean = static_cast<float>(sum / static_cast<double>(count));

        double deviation_sum = 0.0, square_sum = 0.0;
        for (int64_t start = 0; start < count; start += BLOCK) {
            const T* block = x + start;
            const int64_t size = std::min(BLOCK, count - start), whole = size / LANES * LANES;
            Vec deviations[2] = {}, squares[2] = {};
            const auto add = [&](Vec deviation, int64_t u) {
                deviations[u] += deviation;
                squares[u] += deviation * deviation;
            };
            int64_t i = 0;
            for (; i + 2 * LANES <= size; i += 2 * LANES)
                for (int64_t u = 0; u < 2; ++u) add(load(block + i + u * LANES) - mean, u);
            if (i < whole) add(load(block + i) - mean, 0);
            if (whole < size) add(inside ? load_part(block + whole, rest) - mean : Vec{}, 1);
            deviation_sum += total(deviations[0] + deviations[1]);
            square_sum += total(squares[0] + squares[1]);
        }
        const double correction = deviation_sum / static_cast<double>(count);
        const double variance = square_sum / static_cast<double>(count) - correction * correction;
        const float scale = static_cast<float>(1.0 / std::sqrt(variance + 1e-5));
        const float repair = static_cast<float>(correction);

        const int64_t first = group % num_groups * depth, end = plane / LANES * LANES;
        for (int64_t channel = 0; channel < depth; ++channel, y += plane) {
            const T* in = x + channel * plane;
            const float factor = static_cast<float>(weight[first + channel]);
            const float offset = static_cast<float>(bias[first + channel]);
            const auto normalise = [&](Vec value) { return ((value - mean) - repair) * scale * factor + offset; };
            for (int64_t i = 0; i < end; i += LANES) store(y + i, normalise(load(in + i)));
            if (end < plane) store_part(y + end, plane - end, normalise(load_part(in + end, plane - end)));
        }
    }
}
