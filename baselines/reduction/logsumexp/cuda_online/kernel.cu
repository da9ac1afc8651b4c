// Log-sum-exp of each row, bound by reading it once: the running maximum and sum of Milakov and Gimelshein (2018). A
// warp works on a row, or a whole block where rows are long. Rows go in 16-byte vectors, wherever they begin.
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int V = 16 / sizeof(T), UNROLL = 4;
constexpr float LOWEST = -3.4e38f;  // unlike -inf, it can be subtracted from itself

// V neighbouring elements, moved in one transaction.
struct alignas(16) Pack {
    T at[V];
};

// Of some elements of a row: the maximum and the sum of exp(x - maximum).
struct Summary {
    float top, sum;
};

// One rescaling of the old sum for N new elements.
template <int N>
__device__ void add(Summary& all, const T* value) {
    float high = all.top;
#pragma unroll
    for (int e = 0; e < N; ++e) high = fmaxf(high, float(value[e]));
    all.sum *= expf(all.top - high);
#pragma unroll
    for (int e = 0; e < N; ++e) all.sum += expf(float(value[e]) - high);
    all.top = high;
}

__device__ Summary warp_merge(Summary value) {
    for (int offset = 16; offset > 0; offset /= 2) {
        const float other = __shfl_xor_sync(0xffffffffu, value.top, offset), high = fmaxf(value.top, other);
        value.sum = value.sum * expf(value.top - high);
        value.sum += __shfl_xor_sync(0xffffffffu, value.sum, offset);
        value.top = high;
    }
    return value;
}

// What one of `lanes` threads finds in a row.
__device__ Summary summarise(const T* row, int64_t cols, int lane, int lanes) {
    const int64_t misplaced = reinterpret_cast<uintptr_t>(row) / sizeof(T) % V;
    const int64_t head = min(cols, (V - misplaced) % V), vectors = (cols - head) / V, tail = head + vectors * V;
    const auto* from = reinterpret_cast<const Pack*>(row + head);
    Summary all{LOWEST, 0.0f};
    int64_t v = lane;
    for (; v + (UNROLL - 1) * lanes < vectors; v += UNROLL * lanes) {
        Pack pack[UNROLL];  // so many loads are in flight
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) pack[u] = from[v + u * lanes];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) add<V>(all, pack[u].at);
    }
    for (; v < vectors; v += lanes) {
        const Pack pack = from[v];
        add<V>(all, pack.at);
    }
    // What lies around the whole vectors: fewer elements on each side than there are lanes.
    if (lane < head) add<1>(all, row + lane);
    if (tail + lane < cols) add<1>(all, row + tail + lane);
    return all;
}

__global__ void __launch_bounds__(256)
    reduce_by_warps(const T* __restrict__ x, T* __restrict__ y, int64_t rows, int64_t cols) {
    const int64_t row = int64_t(blockIdx.x) * 8 + threadIdx.x / 32;
    if (row >= rows) return;  // a whole warp
    const Summary all = warp_merge(summarise(x + row * cols, cols, threadIdx.x % 32, 32));
    if (threadIdx.x % 32 == 0) y[row] = T(logf(all.sum) + all.top);
}

__global__ void __launch_bounds__(1024) reduce_by_blocks(const T* __restrict__ x, T* __restrict__ y, int64_t cols) {
    __shared__ Summary partial[32];
    const int64_t row = blockIdx.x;
    const Summary mine = warp_merge(summarise(x + row * cols, cols, threadIdx.x, blockDim.x));
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = mine;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const Summary all = warp_merge(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : Summary{LOWEST, 0.0f});
    if (threadIdx.x == 0) y[row] = T(logf(all.sum) + all.top);
}

}  // namespace

extern "C" void logsumexp(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (cols / V <= 32 * UNROLL) {
        reduce_by_warps<<<static_cast<unsigned>((rows + 7) / 8), 256, 0, stream>>>(x, y, rows, cols);
        return;
    }
    // Few rows get large blocks, to keep a GPU busy; with many, threads of small ones wait less for each other.
    const int threads = rows < 1024 && cols / V > 1024 ? 1024 : 256;
    reduce_by_blocks<<<static_cast<unsigned>(rows), threads, 0, stream>>>(x, y, cols);
}
