// Causal attention with tiles of keys and values in shared memory and a running softmax; a thread per query.
#include <cmath>
#include <cstdint>

constexpr int DIM = 24;
constexpr int QUERIES = 32;
constexpr int KEYS = 16;

__global__ void attention(const float* __restrict__ Q, const float* __restrict__ K, const float* __restrict__ V,
                          float* __restrict__ O, float* __restrict__ lse, int length, float scale) {
    __shared__ float keys[KEYS][DIM];
    __shared__ float values[KEYS][DIM + 1];
    const int head = blockIdx.y;
    const int query = blockIdx.x * QUERIES + threadIdx.x;
    const int base = head * length * DIM;

    float q[DIM], out[DIM];
    float m = -INFINITY, l = 0.0f;
#pragma unroll
    for (int d = 0; d < DIM; ++d) {
        q[d] = query < length ? Q[base + query * DIM + d] * scale : 0.0f;
        out[d] = 0.0f;
    }

    const int last = min(length, (static_cast<int>(blockIdx.x) + 1) * QUERIES);
    for (int start = 0; start < last; start += KEYS) {
        for (int e = threadIdx.x; e < KEYS * DIM; e += QUERIES) {
            const int key = start + e / DIM;
            keys[e / DIM][e % DIM] = key < length ? K[base + key * DIM + e % DIM] : 0.0f;
            values[e / DIM][e % DIM] = key < length ? V[base + key * DIM + e % DIM] : 0.0f;
        }
        __syncthreads();
        for (int j = 0; j < KEYS; ++j) {
            if (start + j > query || start + j >= length) break;
            float score = 0.0f;
#pragma unroll
            for (int d = 0; d < DIM; ++d) score += q[d] * keys[j][d];
            const float larger = fmaxf(m, score);
            const float correction = __expf(m - larger);
            const float p = __expf(score - larger);
            l = l * correction + p;
#pragma unroll
            for (int d = 0; d < DIM; ++d) out[d] = out[d] * correction + p * values[j][d];
            m = larger;
        }
        __syncthreads();
    }
    if (query < length) {
        const float inverse = 1.0f / l;
        for (int d = 0; d < DIM; ++d) O[base + query * DIM + d] = out[d] * inverse;
        lse[head * length + query] = m + logf(l);
    }
}

extern "C" void run(const float* q, const float* k, const float* v, float* out, float* lse, int64_t heads,
                    int64_t length, cudaStream_t stream) {
    const dim3 grid((length + QUERIES - 1) / QUERIES, heads);
    attention<<<grid, QUERIES, 0, stream>>>(q, k, v, out, lse, length, 1.0f / sqrtf(static_cast<float>(DIM)));
}
