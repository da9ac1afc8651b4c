// Affine map and rectifier in register tiles (Goto and van de Geijn 2008). A tile's rows are output features and its
// columns are rows of x, so that the weight, usually the larger operand, is read in its own order; x is transposed.
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
inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
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

inline void widen(const T* from, int64_t n, float* to) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) store(to + i, load(from + i));
    for (; i < n; ++i) to[i] = static_cast<float>(from[i]);
}

constexpr int64_t WIDTH = 2 * LANES;              // columns of a tile
constexpr int64_t HEIGHT = LANES == 16 ? 14 : 6;  // rows of a tile: with them the vector registers are full
constexpr int64_t DEPTH = 64;                     // terms in one sum of a tile
constexpr int64_t PACKED = 192 * 1024;            // floats of packed columns, to fit in the second-level cache

// c[ROWS][VECTORS * LANES] += a[ROWS][depth] * b[depth][VECTORS * LANES], with rows `stride`, DEPTH and WIDTH apart.
template <int ROWS, int VECTORS>
void multiply_add(const float* a, const float* b, int64_t depth, float* c, int64_t stride) {
    Vec sums[ROWS][VECTORS] = {};  // added to c at the end, for short sums of short sums lose less to rounding
    for (int64_t k = 0; k < depth; ++k, ++a, b += WIDTH) {
        Vec right[VECTORS];
        for (int v = 0; v < VECTORS; ++v) right[v] = load(b + v * LANES);
#pragma GCC unroll 16
        for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; ++v) sums[r][v] += right[v] * a[r * DEPTH];
    }
    for (int r = 0; r < ROWS; ++r)
        for (int v = 0; v < VECTORS; ++v) {
            float* to = c + r * stride + v * LANES;
            store(to, load(to) + sums[r][v]);
        }
}

template <int ROWS = HEIGHT>
void multiply_add(int64_t rows, int64_t columns, const float* a, const float* b, int64_t depth, float* c,
                  int64_t stride) {
    if constexpr (ROWS > 1)
        if (rows < ROWS) return multiply_add<ROWS - 1>(rows, columns, a, b, depth, c, stride);
    if (columns > LANES) return multiply_add<ROWS, 2>(a, b, depth, c, stride);
    multiply_add<ROWS, 1>(a, b, depth, c, stride);
}

}  // namespace

extern "C" void linear_relu(const T* x, const T* weight, const T* bias, T* y, int64_t batch, int64_t in_features,
                            int64_t out_features) {
    const int64_t group = std::max(WIDTH, std::min(PACKED / in_features, batch + WIDTH - 1) / WIDTH * WIDTH);
    const int64_t panels = (out_features + HEIGHT - 1) / HEIGHT, height = (out_features + panels - 1) / panels;
    thread_local std::vector<float> packed, left, sums;
    packed.resize(group * in_features);
    left.resize(HEIGHT * DEPTH);
    sums.resize(HEIGHT * group);
    for (int64_t column = 0; column < batch; column += group) {
        const int64_t columns = std::min(group, batch - column);
        for (int64_t j = 0; j < columns; j += WIDTH)
            for (int64_t l = 0; l < in_features; l += DEPTH) {
                const int64_t depth = std::min(DEPTH, in_features - l);
                for (int64_t u = 0; u < WIDTH; ++u) {
                    float* to = packed.data() + j * in_features + l * WIDTH + u;
                    const T* from = x + (column + j + u) * in_features + l;
                    const bool inside = j + u < columns;
                    for (int64_t d = 0; d < depth; ++d) to[d * WIDTH] = inside ? static_cast<float>(from[d]) : 0.0f;
                }
            }
        for (int64_t row = 0; row < out_features; row += height) {
            const int64_t rows = std::min(height, out_features - row);
            std::fill(sums.begin(), sums.end(), 0.0f);
            for (int64_t l = 0; l < in_features; l += DEPTH) {
                const int64_t depth = std::min(DEPTH, in_features - l);
                for (int64_t r = 0; r < rows; ++r)
                    widen(weight + (row + r) * in_features + l, depth, left.data() + r * DEPTH);
                for (int64_t j = 0; j < columns; j += WIDTH)
                    multiply_add(rows, columns - j, left.data(), packed.data() + j * in_features + l * WIDTH, depth,
                                 sums.data() + j, group);
            }
            for (int64_t j = 0; j < columns; ++j)
                for (int64_t r = 0; r < rows; ++r) {
                    const float sum = sums[r * group + j] + static_cast<float>(bias[row + r]);
                    y[(column + j) * out_features + row + r] = T(sum < 0.0f ? 0.0f : sum);
                }
        }
    }
}
