// Residual and RMSNorm (Zhang and Sennrich 2019, eq. 4) in two passes over each row: h = x + residual is stored,
// rounded, while its squares are added up, and read back from the cache to be scaled. Four accumulators hide latency.
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

inline float total(Vec v) {
    for (int64_t width = LANES / 2; width; width /= 2)
        for (int64_t i = 0; i < width; ++i) v[i] += v[i + width];
    return v[0];
}

}  // namespace

extern "C" void rmsnorm_residual(const T* x, const T* residual, const T* weight, T* y, T* updated_residual,
                                 int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols, residual += cols, y += cols, updated_residual += cols) {
        T* h = updated_residual;
        Vec sums[4] = {};
        const auto add = [&](int64_t i, int64_t u) {
            store(h + i, load(x + i) + load(residual + i));
            const Vec value = load(h + i);
            sums[u] += value * value;
        };
        int64_t i = 0;
        for (; i + 4 * LANES <= cols; i += 4 * LANES)
            for (int64_t u = 0; u < 4; ++u) add(i + u * LANES, u);
        for (; i + LANES <= cols; i += LANES) add(i, 0);
        const int64_t rest = cols - i;
        Vec last = {};
        if (rest) {
            store_part(h + i, rest, load_part(x + i, rest) + load_part(residual + i, rest));
            last = load_part(h + i, rest);
            sums[1] += last * last;
        }
        const float sum = total((sums[0] + sums[1]) + (sums[2] + sums[3]));
        const float scale = 1.0f / std::sqrt(sum / static_cast<float>(cols) + 1e-6f);

        for (i = 0; i + LANES <= cols; i += LANES) store(y + i, load(h + i) * scale * load(weight + i));
        if (rest) store_part(y + i, rest, last * scale * load_part(weight + i, rest));
    }
}
