// Attention, plainly stated, but without the score matrix (Milakov and Gimelshein 2018): a warp a query, one key after
// the other. Lanes share the dimensions of a head; sum and result are rescaled when the maximum grows.
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int WARPS = 4, MOST = 4;  // dimensions of a lane: the task's heads have 128 at most

__global__ void attend(const T* q, const T* k, const T* v, T* y, int64_t rows, int64_t queries, int64_t keys,
                       int64_t dims, float scale) {
    const int lane = threadIdx.x % 32;
    const int64_t row = int64_t(blockIdx.x) * WARPS + threadIdx.x / 32;
    if (row >= rows) return;
    const int64_t first = row / queries * keys * dims;  // of the head's keys and values
    float query[MOST], result[MOST] = {}, top = -INFINITY, total = 0.0f;
    for (int i = 0; i < MOST; ++i) query[i] = lane + 32 * i < dims ? float(q[row * dims + lane + 32 * i]) : 0.0f;
    for (int64_t key = 0; key < keys; ++key) {
        const int64_t place = first + key * dims + lane;
        float score = 0.0f;
        for (int i = 0; i < MOST; ++i)
            if (lane + 32 * i < dims) score += query[i] * float(k[place + 32 * i]);
        for (int offset = 16; offset > 0; offset /= 2) score += __shfl_xor_sync(0xffffffffu, score, offset);
        score *= scale;
        const float high = fmaxf(top, score), shrink = expf(top - high), weight = expf(score - high);
        total = total * shrink + weight;
        for (int i = 0; i < MOST; ++i)
            if (lane + 32 * i < dims) result[i] = result[i] * shrink + weight * float(v[place + 32 * i]);
        top = high;
    }
    for (int i = 0; i < MOST; ++i)
        if (lane + 32 * i < dims) y[row * dims + lane + 32 * i] = T(result[i] / total);
}

}  // namespace

extern "C" void scaled_dot_product(const T* q, const T* k, const T* v, T* y, int64_t batch, int64_t heads,
                                   int64_t queries, int64_t keys, int64_t head_dim, cudaStream_t stream) {
    const int64_t rows = batch * heads * queries;
    const auto blocks = static_cast<unsigned>((rows + WARPS - 1) / WARPS);
    const float scale = 1.0f / sqrtf(float(head_dim));
    attend<<<blocks, 32 * WARPS, 0, stream>>>(q, k, v, y, rows, queries, keys, head_dim, scale);
}
