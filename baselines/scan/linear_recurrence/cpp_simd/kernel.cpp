// Linear recurrence h = decay * h + x along each row: a vector of columns is scanned as pairs (factor, term) by
// doubling (Hillis and Steele 1986; the pairs are those of Blelloch 1990, section 1.4), so that only one multiplication
// and one addition a vector wait for the h before it. Two rows at a time take turns in the processor.
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

// A row, and how far its recurrence has come.
struct Row {
    const T *x, *decay;
    T* h;
    Vec last = {};  // the last h in every lane

    // The next LANES columns; of the first, the factor plays no part, whatever it is.
    void step(int64_t col) {
        Vec factor = load(decay + col), term = load(x + col);
        if (col == 0) factor[0] = 0.0f;
        // Lane i takes what lane i - STEP has; those without one take the pair that changes nothing, (1, 0).
        const auto join = [&](auto step) {
            Bits from;
            for (int64_t i = 0; i < LANES; ++i) from[i] = static_cast<uint32_t>(i < step ? LANES : i - step);
            term += factor * __builtin_shuffle(term, Vec{}, from);
            factor *= __builtin_shuffle(factor, Vec{} + 1.0f, from);
        };
        for (int64_t distance = 1; distance < LANES; distance *= 2) join(distance);
        const Vec result = factor * last + term;
        store(h + col, result);
        last = __builtin_shuffle(result, Bits{} + static_cast<uint32_t>(LANES - 1));
    }

    // What is left behind the last whole vector, one column at a time.
    void finish(int64_t col, int64_t cols) {
        for (float state = last[0]; col < cols; ++col) {
            state = (col == 0 ? 0.0f : static_cast<float>(decay[col]) * state) + static_cast<float>(x[col]);
            h[col] = T(state);
        }
    }
};

}  // namespace

extern "C" void linear_recurrence(const T* x, const T* decay, T* h, int64_t rows, int64_t cols) {
    int64_t row = 0, col;
    for (; row + 2 <= rows; row += 2, x += 2 * cols, decay += 2 * cols, h += 2 * cols) {
        Row one{x, decay, h}, other{x + cols, decay + cols, h + cols};
        for (col = 0; col + LANES <= cols; col += LANES) {
            one.step(col);
            other.step(col);
        }
        one.finish(col, cols);
        other.finish(col, cols);
    }
    if (row == rows) return;
    Row one{x, decay, h};
    for (col = 0; col + LANES <= cols; col += LANES) one.step(col);
    one.finish(col, cols);
}
