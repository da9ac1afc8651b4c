// Dequantisation of four-bit weights in groups of 128 (Frantar et al. 2022; Lin et al. 2023), 64 bytes each: a
// vector of bytes becomes two of weights.
#include <algorithm>
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
typedef int32_t Ints __attribute__((vector_size(4 * LANES)));
typedef uint8_t Bytes __attribute__((vector_size(LANES)));
constexpr int64_t GROUP_BYTES = 64;

// Unaligned stores that round to nearest even.
inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
inline void store(kbench_bfloat16* p, Vec v) {
    const Bits word = (Bits)v, rounded = word + 0x7fff + ((word >> 16) & 1);
    const Short high = __builtin_convertvector((v == v ? rounded : (word | 0x400000)) >> 16, Short);
    std::memcpy(p, &high, sizeof high);
}
#if defined(__AVX512F__)
inline void store(kbench_half* p, Vec v) { _mm256_storeu_si256((__m256i*)p, _mm512_maskz_cvtps_ph(-1, v, 0)); }
#elif defined(__F16C__)
inline void store(kbench_half* p, Vec v) { _mm_storeu_si128((__m128i*)p, _mm256_cvtps_ph(v, 0)); }
#else
template <class S>
inline void store(S* p, Vec v) {
    for (int64_t i = 0; i < LANES; ++i) p[i] = S(v[i]);
}
#endif

// Which lanes of two vectors, one after the other, become the first and the second of a vector of pairs.
inline Ints lanes_from(int64_t first) {
    Ints lanes;
    for (int64_t i = 0; i < LANES; ++i) lanes[i] = static_cast<int32_t>(first + i / 2 + i % 2 * LANES);
    return lanes;
}

}  // namespace

extern "C" void dequant_int4(const uint8_t* packed, const T* scale, const uint8_t* zero, T* y, int64_t rows,
                             int64_t pairs) {
    const int64_t groups = (pairs + GROUP_BYTES - 1) / GROUP_BYTES;
    const Ints begin = lanes_from(0), end = lanes_from(LANES / 2);
    for (int64_t row = 0; row < rows; ++row, packed += pairs, y += 2 * pairs) {
        for (int64_t group = 0; group < groups; ++group, ++scale, ++zero) {
            const float factor = static_cast<float>(*scale);
            const int32_t offset = *zero;
            const int64_t last = std::min((group + 1) * GROUP_BYTES, pairs);
            int64_t j = group * GROUP_BYTES;
            for (; j + LANES <= last; j += LANES) {
                Bytes bytes;
                std::memcpy(&bytes, packed + j, sizeof bytes);
                const Ints codes = __builtin_convertvector(bytes, Ints);
                const Vec low = __builtin_convertvector((codes & 15) - offset, Vec) * factor;
                const Vec high = __builtin_convertvector((codes >> 4) - offset, Vec) * factor;
                store(y + 2 * j, __builtin_shuffle(low, high, begin));
                store(y + 2 * j + LANES, __builtin_shuffle(low, high, end));
            }
            for (; j < last; ++j) {
                y[2 * j] = T(static_cast<float>((packed[j] & 15) - offset) * factor);
                y[2 * j + 1] = T(static_cast<float>((packed[j] >> 4) - offset) * factor);
            }
        }
    }
}
