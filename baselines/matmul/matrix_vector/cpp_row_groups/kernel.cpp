// Product of a matrix and a vector, four rows at a time: a piece of the vector is loaded once for all of them, and
// their sums hide each other's latency. Memory sets the pace.
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

// The last n < LANES elements of a row; the other lanes hold zero.
inline Vec load_part(const T* p, int64_t n) {
    T part[LANES] = {};
    std::memcpy(part, p, n * sizeof(T));
    return load(part);
}

inline float fold(Vec v) {
    for (int64_t width = LANES / 2; width; width /= 2)
        for (int64_t i = 0; i < width; ++i) v[i] += v[i + width];
    return v[0];
}

// y[i] = sum of a[i][l] * x[l] for ROWS rows.
template <int ROWS>
void multiply(const T* a, const T* x, T* y, int64_t k) {
    Vec even[ROWS] = {}, odd[ROWS] = {};
    int64_t l = 0;
    for (; l + 2 * LANES <= k; l += 2 * LANES) {
        const Vec p = load(x + l), q = load(x + l + LANES);
#pragma GCC unroll 4
        for (int i = 0; i < ROWS; ++i) {
            even[i] += load(a + i * k + l) * p;
            odd[i] += load(a + i * k + l + LANES) * q;
        }
    }
    if (l + LANES <= k) {
        const Vec p = load(x + l);
#pragma GCC unroll 4
        for (int i = 0; i < ROWS; ++i) even[i] += load(a + i * k + l) * p;
        l += LANES;
    }
    if (l < k) {
        const Vec p = load_part(x + l, k - l);
#pragma GCC unroll 4
        for (int i = 0; i < ROWS; ++i) odd[i] += load_part(a + i * k + l, k - l) * p;
    }
    for (int i = 0; i < ROWS; ++i) y[i] = T(fold(even[i] + odd[i]));
}

}  // namespace

extern "C" void matrix_vector(const T* a, const T* x, T* y, int64_t m, int64_t k) {
    int64_t row = 0;
    for (; row + 4 <= m; row += 4) multiply<4>(a + row * k, x, y + row, k);
    for (; row < m; ++row) multiply<1>(a + row * k, x, y + row, k);
}
