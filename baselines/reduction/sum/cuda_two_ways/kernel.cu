// Sum over the middle axis of [outer, length, inner], bound by reading it once. With one column, terms are neighbours:
// a warp or a block adds up a row. With more, neighbours belong to different sums: threads lie across columns and down
// the terms, and those of a column meet in shared memory.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, UNROLL = 4;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

__device__ float warp_sum(float value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

// What one of `lanes` threads adds to the sum of a row, in 16-byte vectors wherever the row begins.
__device__ float add(const T* row, int64_t length, int lane, int lanes) {
    constexpr int V = 16 / sizeof(T);
    const int64_t misplaced = reinterpret_cast<uintptr_t>(row) / sizeof(T) % V;
    const int64_t head = min(length, (V - misplaced) % V), vectors = (length - head) / V, tail = head + vectors * V;
    const auto* from = reinterpret_cast<const Pack<V>*>(row + head);
    float total[UNROLL] = {};
    int64_t v = lane;
    for (; v + (UNROLL - 1) * lanes < vectors; v += UNROLL * lanes) {
        Pack<V> pack[UNROLL];  // so many loads are in flight
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) pack[u] = from[v + u * lanes];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int e = 0; e < V; ++e) total[u] += float(pack[u].at[e]);
    }
    for (; v < vectors; v += lanes) {
        const Pack<V> pack = from[v];
#pragma unroll
        for (int e = 0; e < V; ++e) total[0] += float(pack.at[e]);
    }
    // What lies around the whole vectors: fewer terms on each side than there are lanes.
    if (lane < head) total[1] += float(row[lane]);
    if (tail + lane < length) total[2] += float(row[tail + lane]);
    return (total[0] + total[1]) + (total[2] + total[3]);
}

__global__ void __launch_bounds__(THREADS)
    sum_rows_by_warps(const T* __restrict__ x, T* __restrict__ y, int64_t outer, int64_t length) {
    const int64_t row = int64_t(blockIdx.x) * (THREADS / 32) + threadIdx.x / 32;
    if (row >= outer) return;  // a whole warp
    const float total = warp_sum(add(x + row * length, length, threadIdx.x % 32, 32));
    if (threadIdx.x % 32 == 0) y[row] = T(total);
}

__global__ void __launch_bounds__(THREADS)
    sum_rows_by_blocks(const T* __restrict__ x, T* __restrict__ y, int64_t length) {
    __shared__ float partial[THREADS / 32];
    const float total = warp_sum(add(x + blockIdx.x * length, length, threadIdx.x, THREADS));
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const float sum = warp_sum(threadIdx.x < THREADS / 32 ? partial[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) y[blockIdx.x] = T(sum);
}

// threadIdx.x counts vectors of V columns, threadIdx.y terms; blockDim.y is a power of two.
template <int V>
__global__ void __launch_bounds__(THREADS)
    sum_columns(const T* __restrict__ x, T* __restrict__ y, int64_t length, int64_t inner, int64_t spans) {
    __shared__ float partial[V][THREADS];
    const int64_t slice = blockIdx.x / spans, vectors = inner / V;
    const int64_t column = (blockIdx.x - slice * spans) * blockDim.x + threadIdx.x;
    const auto* from = reinterpret_cast<const Pack<V>*>(x + slice * length * inner) + column;
    float total[V] = {};
    if (column < vectors) {
        const int64_t step = blockDim.y;
        int64_t term = threadIdx.y;
        for (; term + (UNROLL - 1) * step < length; term += UNROLL * step) {
            Pack<V> pack[UNROLL];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u) pack[u] = from[(term + u * step) * vectors];
#pragma unroll
            for (int u = 0; u < UNROLL; ++u)
#pragma unroll
                for (int e = 0; e < V; ++e) total[e] += float(pack[u].at[e]);
        }
        for (; term < length; term += step) {
            const Pack<V> pack = from[term * vectors];
#pragma unroll
            for (int e = 0; e < V; ++e) total[e] += float(pack.at[e]);
        }
    }
    const int place = threadIdx.y * blockDim.x + threadIdx.x;
#pragma unroll
    for (int e = 0; e < V; ++e) partial[e][place] = total[e];
    for (int half = blockDim.y / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.y < half)
#pragma unroll
            for (int e = 0; e < V; ++e) partial[e][place] += partial[e][place + half * blockDim.x];
    }
    if (threadIdx.y > 0 || column >= vectors) return;
    Pack<V> sum;
#pragma unroll
    for (int e = 0; e < V; ++e) sum.at[e] = T(partial[e][threadIdx.x]);
    reinterpret_cast<Pack<V>*>(y + slice * inner)[column] = sum;
}

template <int V>
void launch_columns(const T* x, T* y, int64_t outer, int64_t length, int64_t inner, cudaStream_t stream) {
    const int64_t vectors = inner / V;
    // A segment of 128 bytes across is enough to read whole cache lines; more threads go down the terms, while those
    // last, and then across again.
    unsigned across = 1, down = 1;
    while (across < 128 / sizeof(Pack<V>) && across < vectors) across *= 2;
    while (across * down < THREADS && down * UNROLL < length) down *= 2;
    while (across * down < THREADS && across < vectors) across *= 2;
    const int64_t spans = (vectors + across - 1) / across;
    const auto blocks = static_cast<unsigned>(outer * spans);
    sum_columns<V><<<blocks, dim3(across, down), 0, stream>>>(x, y, length, inner, spans);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void sum(const T* x, T* y, int64_t outer, int64_t length, int64_t inner, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    if (inner > 1) {
        const bool vectors = inner % V == 0 && aligned(x) && aligned(y);
        (vectors ? launch_columns<V> : launch_columns<1>)(x, y, outer, length, inner, stream);
    } else if (length <= 32 * UNROLL * V) {
        const auto blocks = static_cast<unsigned>((outer + THREADS / 32 - 1) / (THREADS / 32));
        sum_rows_by_warps<<<blocks, THREADS, 0, stream>>>(x, y, outer, length);
    } else {
        sum_rows_by_blocks<<<static_cast<unsigned>(outer), THREADS, 0, stream>>>(x, y, length);
    }
}
