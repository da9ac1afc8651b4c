// Top-k gate of a mixture of experts (Jiang et al. 2024): the largest logits so far stand in order, and most others are
// seen to be smaller than the last of them, a vector at a time. The softmax is over those that are left at the end.
#include <cmath>
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

inline bool any_above(Vec v, float least) {
    const auto larger = v > least;
    bool found = false;
    for (int64_t i = 0; i < LANES; ++i) found |= larger[i] != 0;
    return found;
}

}  // namespace

extern "C" void topk_gating(const T* logits, int64_t k, T* weights, int64_t* indices, int64_t tokens, int64_t experts,
                            int64_t) {
    // Behind the last expert, what is never larger than a logit.
    std::vector<float> row((experts + LANES - 1) / LANES * LANES, -INFINITY), value(k);
    for (int64_t token = 0; token < tokens; ++token, logits += experts, weights += k, indices += k) {
        int64_t e = 0;
        for (; e + LANES <= experts; e += LANES) store(row.data() + e, load(logits + e));
        for (; e < experts; ++e) row[e] = static_cast<float>(logits[e]);

        int64_t found = 0;
        const auto insert = [&](int64_t expert) {
            int64_t rank = found < k ? found++ : k - 1;  // instead of the smallest, where all places are taken
            for (; rank > 0 && value[rank - 1] < row[expert]; --rank) {
                value[rank] = value[rank - 1];
                indices[rank] = indices[rank - 1];
            }
            value[rank] = row[expert];
            indices[rank] = expert;
        };
        for (e = 0; e < k; ++e) insert(e);
        // From the first whole vector on; those of its experts that have been inserted are not larger than the last.
        for (; e < experts; ++e) {
            if (e % LANES == 0)
                while (e < experts && !any_above(load(row.data() + e), value[k - 1])) e += LANES;
            if (e < experts && row[e] > value[k - 1]) insert(e);
        }

        float total = 0.0f;
        for (int64_t rank = k - 1; rank >= 0; --rank) total += value[rank] = std::exp(value[rank] - value[0]);
        for (int64_t rank = 0; rank < k; ++rank) weights[rank] = value[rank] / total;
    }
}
