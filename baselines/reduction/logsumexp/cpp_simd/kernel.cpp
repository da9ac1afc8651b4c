// Log-sum-exp (Blanchard, Higham and Higham 2021) in two passes over a row, a vector at a time: the maximum, then the
// sum. exp follows Cody and Waite 1980: x = n ln 2 + r, a polynomial in r (minimax fit), and n put into the exponent.
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

// The last n < LANES elements of a row; the other lanes hold `fill`.
inline Vec load_part(const T* p, int64_t n, float fill) {
    T part[LANES];
    for (T& value : part) value = T(fill);
    std::memcpy(part, p, n * sizeof(T));
    return load(part);
}

template <class Operation>
inline float fold(Vec v, Operation operation) {
    for (int64_t width = LANES / 2; width; width /= 2)
        for (int64_t i = 0; i < width; ++i) v[i] = operation(v[i], v[i + width]);
    return v[0];
}

// exp(x) for x <= 0, within 1.1 ulp; 0 where the result would be subnormal, NaN for NaN.
inline Vec exp_nonpositive(Vec x) {
    const Vec shifted = x * 1.44269504f + 12582912.0f;  // 1.5 * 2^23 pushes the fraction out: the low bits hold n
    const Vec n = shifted - 12582912.0f;
    const Vec r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
    Vec q = r * 0x1.6a23dp-10f + 0x1.123a2p-7f;
    q = q * r + 0x1.5558f2p-5f;
    q = q * r + 0x1.555492p-3f;
    q = q * r + 0x1.fffffcp-2f;
    const Vec result = (Vec)((Bits)(q * r * r + r + 1.0f) + ((Bits)shifted << 23));
    return x < -87.3f ? Vec{} : (x == x ? result : x);
}

inline float largest(const T* x, int64_t cols) {
    const auto larger = [](auto a, auto b) { return a > b ? a : b; };
    Vec tops[4];
    for (Vec& top : tops) top = Vec{} - INFINITY;
    int64_t i = 0;
    for (; i + 4 * LANES <= cols; i += 4 * LANES)
        for (int64_t u = 0; u < 4; ++u) tops[u] = larger(load(x + i + u * LANES), tops[u]);
    for (; i + LANES <= cols; i += LANES) tops[0] = larger(load(x + i), tops[0]);
    if (i < cols) tops[1] = larger(load_part(x + i, cols - i, -INFINITY), tops[1]);
    return fold(larger(larger(tops[0], tops[1]), larger(tops[2], tops[3])), larger);
}

inline double sum_of_exponentials(const T* x, int64_t cols, float top) {
    double total = 0.0;
    int64_t i = 0;
    while (i + LANES <= cols) {
        Vec parts[2] = {};  // equal terms round alike: a sum of short sums keeps that error small
        const int64_t end = i + 64 * LANES < cols ? i + 64 * LANES : cols;
        for (; i + 2 * LANES <= end; i += 2 * LANES)
            for (int64_t u = 0; u < 2; ++u) parts[u] += exp_nonpositive(load(x + i + u * LANES) - top);
        for (; i + LANES <= end; i += LANES) parts[0] += exp_nonpositive(load(x + i) - top);
        total += fold(parts[0] + parts[1], [](float a, float b) { return a + b; });
    }
    for (; i < cols; ++i) total += std::exp(static_cast<float>(x[i]) - top);
    return total;
}

// A row whose largest number is infinite: nothing can be taken off it.
inline float log_sum_of_infinities(const T* x, int64_t cols) {
    float total = 0.0f;
    for (int64_t i = 0; i < cols; ++i) total += std::exp(static_cast<float>(x[i]));
    return std::log(total);
}

}  // namespace

extern "C" void logsumexp(const T* x, T* y, int64_t rows, int64_t cols) {
    for (int64_t row = 0; row < rows; ++row, x += cols) {
        const float top = largest(x, cols);
        if (std::isinf(top))
            y[row] = T(log_sum_of_infinities(x, cols));
        else
            y[row] = T(static_cast<float>(std::log(sum_of_exponentials(x, cols, top))) + top);
    }
}
