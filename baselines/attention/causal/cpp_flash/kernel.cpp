// Causal attention with tiles of scores and an online softmax (Milakov and Gimelshein 2018; Dao et al. 2022): a block
// of queries meets the keys KEYS at a time, and what it has summed is rescaled whenever its maximum rises.
// exp follows Cody and Waite 1980: x = n ln 2 + r, a polynomial in r (minimax fit), and n put into the exponent.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace {

using T = KBENCH_T;
#ifdef __AVX512F__
constexpr int64_t LANES = 16;
#else
constexpr int64_t LANES = 8;
#endif
typedef float Vec __attribute__((vector_size(4 * LANES)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));

inline Vec load(const float* p) {
    Vec v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
inline void store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }

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

constexpr int64_t WIDTH = 2 * LANES;               // keys in a packed panel
constexpr int64_t QUERIES = LANES == 16 ? 12 : 6;  // queries in a block: with WIDTH, they fill the vector registers
constexpr int64_t KEYS = 128;                      // keys between two rescalings
constexpr int64_t DEPTH = 32;                      // terms of a score in one sum: short sums lose less to rounding

// c[QUERIES][VECTORS * LANES] += a[QUERIES][depth] * b[depth][VECTORS * LANES]; the strides say how each is stored.
template <int VECTORS, int64_t A_ROW, int64_t A_DEPTH>
void multiply_add(const float* a, const float* b, int64_t b_row, int64_t depth, float* c, int64_t c_row) {
    Vec sums[QUERIES][VECTORS] = {};
    for (int64_t k = 0; k < depth; ++k, a += A_DEPTH, b += b_row) {
        Vec right[VECTORS];
        for (int v = 0; v < VECTORS; ++v) right[v] = load(b + v * LANES);
#pragma GCC unroll 16
        for (int r = 0; r < QUERIES; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < VECTORS; ++v) sums[r][v] += right[v] * a[r * A_ROW];
    }
    for (int r = 0; r < QUERIES; ++r)
        for (int v = 0; v < VECTORS; ++v) {
            float* to = c + r * c_row + v * LANES;
            store(to, load(to) + sums[r][v]);
        }
}

// Turns a row of scores into exp(score * scale - top), updates its top and sum, and rescales what was summed before.
inline void exponentiate(float* scores, int64_t keys, float scale, float& top, float& sum, float* out, int64_t size) {
    const auto larger = [](auto a, auto b) { return a > b ? a : b; };
    Vec tops = Vec{} + top;
    for (int64_t j = 0; j < keys; j += LANES) tops = larger(load(scores + j) * scale, tops);
    const float risen = fold(tops, larger);
    const float correction = risen == top ? 1.0f : exp_nonpositive(Vec{} + (top - risen))[0];
    Vec sums = {};
    for (int64_t j = 0; j < keys; j += LANES) {
        const Vec e = exp_nonpositive(load(scores + j) * scale - risen);
        store(scores + j, e);
        sums += e;
    }
    top = risen;
    sum = sum * correction + fold(sums, [](float a, float b) { return a + b; });
    if (correction != 1.0f)
        for (int64_t d = 0; d < size; d += LANES) store(out + d, load(out + d) * correction);
}

}  // namespace

extern "C" void causal(const T* q, const T* k, const T* v, T* y, int64_t batch, int64_t heads, int64_t length,
                       int64_t head_dim) {
    const int64_t size = (head_dim + LANES - 1) / LANES * LANES, panels = (length + WIDTH - 1) / WIDTH;
    const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
    thread_local std::vector<float> keys, values, query, scores, out;
    keys.assign(panels * head_dim * WIDTH, 0.0f);  // [panel][head_dim][WIDTH]
    values.assign(length * size, 0.0f);            // [length][size]
    query.resize(head_dim * QUERIES);              // [head_dim][QUERIES]
    out.resize(QUERIES * size);
    for (int64_t head = 0; head < batch * heads; ++head) {
        for (int64_t j = 0; j < length; ++j)
            for (int64_t d = 0; d < head_dim; ++d) {
                keys[(j / WIDTH * head_dim + d) * WIDTH + j % WIDTH] = k[j * head_dim + d];
                values[j * size + d] = v[j * head_dim + d];
            }
        for (int64_t row = 0; row < length; row += QUERIES) {
            const int64_t rows = std::min(QUERIES, length - row);
            for (int64_t d = 0; d < head_dim; ++d)
                for (int64_t r = 0; r < QUERIES; ++r)
                    query[d * QUERIES + r] = r < rows ? static_cast<float>(q[(row + r) * head_dim + d]) : 0.0f;
            float top[QUERIES], sum[QUERIES] = {};
            std::fill(top, top + QUERIES, -INFINITY);
            std::fill(out.begin(), out.end(), 0.0f);
            for (int64_t start = 0; start < row + rows; start += KEYS) {
                const int64_t met = std::min(KEYS, row + rows - start), padded = (met + WIDTH - 1) / WIDTH * WIDTH;
                scores.assign(QUERIES * KEYS, 0.0f);
                for (int64_t j = 0; j < padded; j += WIDTH)
                    for (int64_t d = 0; d < head_dim; d += DEPTH)
                        multiply_add<2, 1, QUERIES>(query.data() + d * QUERIES,
                                                    keys.data() + (start + j) * head_dim + d * WIDTH, WIDTH,
                                                    std::min(DEPTH, head_dim - d), scores.data() + j, KEYS);
                for (int64_t r = 0; r < QUERIES; ++r) {
                    float* line = scores.data() + r * KEYS;
                    const int64_t past = std::clamp<int64_t>(row + r + 1 - start, 0, padded);
                    std::fill(line + past, line + padded, -INFINITY);
                    exponentiate(line, padded, scale, top[r], sum[r], out.data() + r * size, size);
                }
                for (int64_t d = 0; d < size; d += WIDTH) {
                    const float* from = values.data() + start * size + d;
                    if (d + LANES < size)
                        multiply_add<2, KEYS, 1>(scores.data(), from, size, met, out.data() + d, size);
                    else
                        multiply_add<1, KEYS, 1>(scores.data(), from, size, met, out.data() + d, size);
                }
            }
            for (int64_t r = 0; r < rows; ++r)
                for (int64_t d = 0; d < head_dim; ++d) y[(row + r) * head_dim + d] = T(out[r * size + d] / sum[r]);
        }
        q += length * head_dim, k += length * head_dim, v += length * head_dim, y += length * head_dim;
    }
}
