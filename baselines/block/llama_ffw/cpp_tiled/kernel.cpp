// Gated feed-forward block (Shazeer 2020, eq. 6) in register tiles (Goto and van de Geijn 2008). A tile's rows are
// features and its columns tokens, so the gated hidden layer comes out in the packed order that the last product reads.
// exp follows Cody and Waite 1980: x = n ln 2 + r, a polynomial in r (minimax fit), and n put into the exponent.
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
constexpr int64_t DEPTH = 32;                     // terms in one sum of a tile
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

inline Vec silu(Vec z) {
    const Vec e = exp_nonpositive(z > 0.0f ? -z : z);
    return z * (z > 0.0f ? Vec{} + 1.0f : e) / (1.0f + e);
}

// weight[features][depth] times packed columns [columns / WIDTH][depth][WIDTH]; emit(feature, column, sums) takes each
// vector of LANES columns.
template <class Emit>
void product(const T* weight, int64_t features, int64_t depth, const float* packed, int64_t columns, Emit emit) {
    const int64_t panels = (features + HEIGHT - 1) / HEIGHT, height = (features + panels - 1) / panels;
    const int64_t stride = (columns + WIDTH - 1) / WIDTH * WIDTH;
    thread_local std::vector<float> left, sums;
    left.resize(HEIGHT * DEPTH);
    for (int64_t row = 0; row < features; row += height) {
        const int64_t rows = std::min(height, features - row);
        sums.assign(HEIGHT * stride, 0.0f);
        for (int64_t l = 0; l < depth; l += DEPTH) {
            const int64_t part = std::min(DEPTH, depth - l);
            for (int64_t r = 0; r < rows; ++r) widen(weight + (row + r) * depth + l, part, left.data() + r * DEPTH);
            for (int64_t j = 0; j < columns; j += WIDTH)
                multiply_add(rows, columns - j, left.data(), packed + j * depth + l * WIDTH, part, sums.data() + j,
                             stride);
        }
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t j = 0; j < columns; j += LANES) emit(row + r, j, load(sums.data() + r * stride + j));
    }
}

}  // namespace

extern "C" void llama_ffw(const T* x, const T* gate_weight, const T* up_weight, const T* down_weight, T* y,
                          int64_t tokens, int64_t hidden, int64_t inner) {
    const int64_t group = std::max(WIDTH, std::min(PACKED / (hidden + inner), tokens + WIDTH - 1) / WIDTH * WIDTH);
    thread_local std::vector<float> packed, gated;
    gated.resize(group * inner);
    for (int64_t token = 0; token < tokens; token += group, x += group * hidden, y += group * hidden) {
        const int64_t columns = std::min(group, tokens - token);
        packed.assign(group * hidden, 0.0f);
        for (int64_t j = 0; j < columns; ++j)
            for (int64_t d = 0; d < hidden; ++d)
                packed[(j / WIDTH * hidden + d) * WIDTH + j % WIDTH] = static_cast<float>(x[j * hidden + d]);

        const auto place = [&](int64_t feature, int64_t column) {
            return gated.data() + (column / WIDTH * inner + feature) * WIDTH + column % WIDTH;
        };
        product(gate_weight, inner, hidden, packed.data(), columns,
                [&](int64_t feature, int64_t column, Vec sums) { store(place(feature, column), sums); });
        product(up_weight, inner, hidden, packed.data(), columns, [&](int64_t feature, int64_t column, Vec sums) {
            float* to = place(feature, column);
            store(to, silu(load(to)) * sums);
        });
        product(down_weight, hidden, inner, gated.data(), columns, [&](int64_t feature, int64_t column, Vec sums) {
            for (int64_t j = 0; j < LANES && column + j < columns; ++j) y[(column + j) * hidden + feature] = T(sums[j]);
        });
    }
}
