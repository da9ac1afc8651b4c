// Online softmax: maximum and sum in one pass as a pair that merges; warps combine through shared memory.
#include <cstdint>

struct __align__(8) MaxSum {
    float m;
    float d;
};

__device__ __forceinline__ MaxSum merge(MaxSum a, MaxSum b) {
    const bool a_bigger = a.m > b.m;
    const MaxSum bigger = a_bigger ? a : b;
    const MaxSum smaller = a_bigger ? b : a;
    return {bigger.m, bigger.d + (smaller.d == 0.0f ? 0.0f : smaller.d * __expf(smaller.m - bigger.m))};
}

__device__ __forceinline__ MaxSum merge_warp(MaxSum value) {
    for (int offset = 16; offset > 0; offset >>= 1) {
        const float m = __shfl_xor_sync(0xffffffffu, value.m, offset);
        const float d = __shfl_xor_sync(0xffffffffu, value.d, offset);
        value = merge(value, MaxSum{m, d});
    }
    return value;
}

template <int WARPS>
__global__ void online_softmax(const float* x, float* y, int cols) {
    __shared__ MaxSum partial[WARPS];
    const float* row = x + (int64_t)blockIdx.x * cols;
    MaxSum mine{-INFINITY, 0.0f};
    for (int c = threadIdx.x; c < cols; c += WARPS * 32) mine = merge(mine, MaxSum{row[c], 1.0f});
    mine = merge_warp(mine);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = mine;
    __syncthreads();
    MaxSum total = partial[0];
    for (int w = 1; w < WARPS; ++w) total = merge(total, partial[w]);
    const float scale = __fdividef(1.0f, total.d);
    for (int c = threadIdx.x; c < cols; c += WARPS * 32) {
        y[(int64_t)blockIdx.x * cols + c] = __expf(row[c] - total.m) * scale;
    }
}

extern "C" void run(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    online_softmax<4><<<rows, 128, 0, stream>>>(x, y, cols);
}
