// One step of AdamW (Loshchilov and Hutter 2019, algorithm 2), a vector at a time and all in one pass: four tensors are
// read and three written, once each.
#include <cmath>
#include <cstdint>
#include <cstring>
#ifdef __AVX__
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

// The last n < LANES elements; the other lanes hold zero, or are not stored.
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

inline Vec root(Vec v) {
#if defined(__AVX512F__)
    return _mm512_maskz_sqrt_ps(-1, v);
#elif defined(__AVX__)
    return _mm256_sqrt_ps(v);
#else
    for (int64_t i = 0; i < LANES; ++i) v[i] = std::sqrt(v[i]);
    return v;
#endif
}

}  // namespace

extern "C" void adamw_step(const T* param, const T* grad, const T* exp_avg, const T* exp_avg_sq, double lr,
                           double beta1, double beta2, double eps, double weight_decay, int64_t step, T* new_param,
                           T* new_exp_avg, T* new_exp_avg_sq, int64_t rows, int64_t cols) {
    // In float64 as far as all elements share it: of a rounded beta, few digits of 1 - beta are left.
    const float keep1 = float(beta1), add1 = float(1.0 - beta1), keep2 = float(beta2), add2 = float(1.0 - beta2);
    const float decay = float(1.0 - lr * weight_decay), rate = float(lr / (1.0 - std::pow(beta1, double(step))));
    const float unbias = float(1.0 / std::sqrt(1.0 - std::pow(beta2, double(step)))), offset = float(eps);
    // The moments are replaced by the new ones; they are rounded only when stored.
    const auto step_of = [=](Vec p, Vec g, Vec& m, Vec& v) {
        m = m * keep1 + g * add1;
        v = v * keep2 + g * add2 * g;
        return p * decay - m / (root(v) * unbias + offset) * rate;
    };
    const int64_t count = rows * cols, whole = count / LANES * LANES, rest = count - whole;
    for (int64_t i = 0; i < whole; i += LANES) {
        Vec m = load(exp_avg + i), v = load(exp_avg_sq + i);
        store(new_param + i, step_of(load(param + i), load(grad + i), m, v));
        store(new_exp_avg + i, m);
        store(new_exp_avg_sq + i, v);
    }
    if (rest) {
        Vec m = load_part(exp_avg + whole, rest), v = load_part(exp_avg_sq + whole, rest);
        const Vec p = load_part(param + whole, rest), g = load_part(grad + whole, rest);
        store_part(new_param + whole, rest, step_of(p, g, m, v));
        store_part(new_exp_avg + whole, rest, m);
        store_part(new_exp_avg_sq + whole, rest, v);
    }
}
