// Sum over the middle axis, a vector at a time: along the axis where it is the last one, else a running sum for each
// column. Sums of 256 terms are added to a total, which keeps their error small.
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

constexpr int64_t TERMS = 256;

float along(const T* x, int64_t length) {
    float total = 0.0f;
    int64_t i = 0;
    while (i + LANES <= length) {
        Vec parts[4] = {};
        const int64_t end = std::min(length, i + TERMS * LANES);
        for (; i + 4 * LANES <= end; i += 4 * LANES)
            for (int64_t u = 0; u < 4; ++u) parts[u] += load(x + i + u * LANES);
        for (; i + LANES <= end; i += LANES) parts[0] += load(x + i);
        Vec sum = (parts[0] + parts[1]) + (parts[2] + parts[3]);
        for (int64_t width = LANES / 2; width; width /= 2)
            for (int64_t lane = 0; lane < width; ++lane) sum[lane] += sum[lane + width];
        total += sum[0];
    }
    float rest = 0.0f;
    for (; i < length; ++i) rest += static_cast<float>(x[i]);
    return total + rest;
}

inline void add(float* part, Vec terms) {
    Vec sum;
    std::memcpy(&sum, part, sizeof sum);
    sum += terms;
    std::memcpy(part, &sum, sizeof sum);
}

// Adds a row of terms, one of each column, to `part`. Several rows at once are read more slowly.
inline void add_row(const T* x, float* part, int64_t inner) {
    int64_t col = 0;
    for (; col + LANES <= inner; col += LANES) add(part + col, load(x + col));
    if (col < inner && inner >= LANES) {  // the last vector once more, without the columns that have been
        Bits is_left;
        for (int64_t lane = 0; lane < LANES; ++lane) is_left[lane] = lane < LANES - (inner - col) ? 0 : ~0u;
        add(part + inner - LANES, (Vec)((Bits)load(x + inner - LANES) & is_left));
        return;
    }
    for (; col < inner; ++col) part[col] += static_cast<float>(x[col]);
}

}  // namespace

extern "C" void sum(const T* x, T* y, int64_t outer, int64_t length, int64_t inner) {
    if (inner == 1) {
        for (int64_t slice = 0; slice < outer; ++slice) y[slice] = T(along(x + slice * length, length));
        return;
    }
    std::vector<float> part(inner), total(inner);
    for (int64_t slice = 0; slice < outer; ++slice, x += length * inner, y += inner) {
        std::fill(total.begin(), total.end(), 0.0f);
        for (int64_t start = 0; start < length; start += TERMS) {
            std::fill(part.begin(), part.end(), 0.0f);
            const int64_t end = std::min(length, start + TERMS);
            for (int64_t term = start; term < end; ++term) add_row(x + term * inner, part.data(), inner);
            for (int64_t col = 0; col < inner; ++col) total[col] += part[col];
        }
        for (int64_t col = 0; col < inner; ++col) y[col] = T(total[col]);
    }
}
