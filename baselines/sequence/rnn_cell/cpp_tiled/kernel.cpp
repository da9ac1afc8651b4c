// One step of a recurrent layer (Elman 1990) in register tiles (Goto and van de Geijn 2008). Rows of a tile are units
// and its columns rows of the batch, so that weights, usually the largest operands, are read in their own order; inputs
// and states are transposed. Sums of both products become states without leaving the cache.
#include <algorithm>
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

// Rows of a matrix as columns of tiles, in float: of DEPTH terms and WIDTH rows after another, zeros past the last row.
void pack(const T* matrix, int64_t rows, int64_t terms, float* packed) {
    for (int64_t j = 0; j < rows; j += WIDTH)
        for (int64_t l = 0; l < terms; l += DEPTH) {
            const int64_t depth = std::min(DEPTH, terms - l);
            for (int64_t u = 0; u < WIDTH; ++u) {
                float* to = packed + j * terms + l * WIDTH + u;
                const T* from = matrix + (j + u) * terms + l;
                const bool inside = j + u < rows;
                for (int64_t d = 0; d < depth; ++d) to[d * WIDTH] = inside ? static_cast<float>(from[d]) : 0.0f;
            }
        }
}

// sums[rows][columns] += weight[rows][terms] times what was packed; rows of sums are `stride` apart.
void add_products(const T* weight, const float* packed, int64_t rows, int64_t columns, int64_t terms, float* sums,
                  int64_t stride) {
    float left[HEIGHT * DEPTH];
    for (int64_t l = 0; l < terms; l += DEPTH) {
        const int64_t depth = std::min(DEPTH, terms - l);
        for (int64_t r = 0; r < rows; ++r) widen(weight + r * terms + l, depth, left + r * DEPTH);
        for (int64_t j = 0; j < columns; j += WIDTH)
            multiply_add(rows, columns - j, left, packed + j * terms + l * WIDTH, depth, sums + j, stride);
    }
}

// exp(x) within 1.1 ulp (Cody and Waite 1980: x = n ln 2 + r, a polynomial in r, and n put into the exponent); above
// 88.72 and below -87 as there. NaN stays NaN.
inline Vec exponential(Vec x) {
    const Vec low = Vec{} - 87.0f, high = Vec{} + 88.72f;
    const Vec bounded = x < low ? low : (x > high ? high : x);
    // 1.5 * 2^23 pushes the fraction out: the low bits hold n.
    const Vec shifted = bounded * 1.44269504f + 12582912.0f;
    const Vec n = shifted - 12582912.0f;
    const Vec r = (bounded - n * 0.693359375f) - n * -2.12194440e-4f;
    Vec q = r * 0x1.6a23dp-10f + 0x1.123a2p-7f;
    q = q * r + 0x1.5558f2p-5f;
    q = q * r + 0x1.555492p-3f;
    q = q * r + 0x1.fffffcp-2f;
    const Vec result = (Vec)((Bits)(q * r * r + r + 1.0f) + ((Bits)shifted << 23));
    return x == x ? result : x;
}

// Near zero a quotient of Lambert's continued fraction (1768), whose error is below 1e-8; elsewhere the definition,
// which would cancel there.
inline Vec tangent(Vec z) {
    const Vec square = z * z, size = z < 0.0f ? -z : z;
    const Vec near = z * (square * (square + 105.0f) + 945.0f) / (square * (square * 15.0f + 420.0f) + 945.0f);
    const Vec far = 1.0f - 2.0f / (exponential(size * 2.0f) + 1.0f);
    return size < 0.75f ? near : (z < 0.0f ? -far : far);
}

}  // namespace

extern "C" void rnn_cell(const T* x, const T* h, const T* weight_ih, const T* weight_hh, const T* bias, T* y,
                         int64_t batch, int64_t input_size, int64_t hidden_size) {
    const int64_t terms = input_size + hidden_size;
    const int64_t group = std::max(WIDTH, std::min(PACKED / terms, batch + WIDTH - 1) / WIDTH * WIDTH);
    const int64_t panels = (hidden_size + HEIGHT - 1) / HEIGHT, height = (hidden_size + panels - 1) / panels;
    thread_local std::vector<float> packed, sums;
    packed.resize(group * terms);
    sums.resize(HEIGHT * group);
    for (int64_t column = 0; column < batch; column += group) {
        const int64_t columns = std::min(group, batch - column);
        float *packed_x = packed.data(), *packed_h = packed_x + group * input_size;
        pack(x + column * input_size, columns, input_size, packed_x);
        pack(h + column * hidden_size, columns, hidden_size, packed_h);
        for (int64_t row = 0; row < hidden_size; row += height) {
            const int64_t rows = std::min(height, hidden_size - row);
            for (int64_t r = 0; r < rows; ++r)
                std::fill_n(sums.data() + r * group, group, static_cast<float>(bias[row + r]));
            add_products(weight_ih + row * input_size, packed_x, rows, columns, input_size, sums.data(), group);
            add_products(weight_hh + row * hidden_size, packed_h, rows, columns, hidden_size, sums.data(), group);
            for (int64_t i = 0; i < rows * group; i += LANES) store(&sums[i], tangent(load(&sums[i])));
            for (int64_t j = 0; j < columns; ++j)
                for (int64_t r = 0; r < rows; ++r) y[(column + j) * hidden_size + row + r] = T(sums[r * group + j]);
        }
    }
}
