// Scatter-add of rows (torch.index_add) turned into a gather: tokens are put into buckets, one for each row of the
// table, by a counting sort whose buckets may lie in any order. Then each row is read and written once and its sum is
// kept in float32, where atomic additions would round halves at every step.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256;
// From so many tokens a row on, on average, the threads of a block share a row.
constexpr int64_t CROWDED = 16;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// What the C ABI has no room for, one allocation. `cursor` and `counts` begin as zeros.
struct Buckets {
    int *cursor, *counts, *starts, *rank, *order;
};

// How many tokens each bucket gets, and each token's number within its bucket.
__global__ void __launch_bounds__(THREADS) count(Buckets to, const int64_t* __restrict__ index, int64_t tokens) {
    const int64_t token = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (token < tokens) to.rank[token] = atomicAdd(&to.counts[index[token]], 1);
}

// Where each bucket begins: warps take places for 32 of them at a time.
__global__ void __launch_bounds__(THREADS) place(Buckets to, int64_t bins) {
    const int64_t bin = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    const int lane = threadIdx.x % 32, size = bin < bins ? to.counts[bin] : 0;
    int end = size;
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, end, step);
        if (lane >= step) end += before;
    }
    const int first = __shfl_sync(0xffffffffu, lane == 31 ? atomicAdd(to.cursor, end) : 0, 31);
    if (bin < bins) to.starts[bin] = first + end - size;
}

__global__ void __launch_bounds__(THREADS) fill(Buckets to, const int64_t* __restrict__ index, int64_t tokens) {
    const int64_t token = int64_t(blockIdx.x) * THREADS + threadIdx.x;
    if (token < tokens) to.order[to.starts[index[token]] + to.rank[token]] = int(token);
}

// A thread has V columns of a row. Those with the same columns in a block have other rows or, if the row is shared,
// other tokens of it.
template <int V>
__global__ void __launch_bounds__(THREADS)
    add_rows(const T* __restrict__ base, const T* __restrict__ source, T* __restrict__ y, Buckets buckets, int64_t bins,
             int64_t width, bool shared) {
    __shared__ float partial[THREADS][V + (V > 1)];
    const int64_t bin = shared ? blockIdx.x : int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
    const int64_t col = (int64_t(blockIdx.y) * blockDim.x + threadIdx.x) * V;
    const bool inside = bin < bins && col < width;
    float total[V] = {};
    if (inside) {
        const int* tokens = buckets.order + buckets.starts[bin];
        const int size = buckets.counts[bin], step = shared ? blockDim.y : 1;
#pragma unroll 4
        for (int i = shared ? threadIdx.y : 0; i < size; i += step) {
            const auto value = *reinterpret_cast<const Pack<V>*>(source + tokens[i] * width + col);
#pragma unroll
            for (int e = 0; e < V; ++e) total[e] += float(value.at[e]);
        }
    }
    if (shared) {
        for (int e = 0; e < V; ++e) partial[threadIdx.y * blockDim.x + threadIdx.x][e] = total[e];
        __syncthreads();
        for (int i = 1; i < blockDim.y && threadIdx.y == 0; ++i)
            for (int e = 0; e < V; ++e) total[e] += partial[i * blockDim.x + threadIdx.x][e];
    }
    if (!inside || (shared && threadIdx.y > 0)) return;
    auto result = *reinterpret_cast<const Pack<V>*>(base + bin * width + col);
#pragma unroll
    for (int e = 0; e < V; ++e) result.at[e] = T(float(result.at[e]) + total[e]);
    *reinterpret_cast<Pack<V>*>(y + bin * width + col) = result;
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void scatter_add(const T* base, const int64_t* index, const T* source, T* y, int64_t bins, int64_t tokens,
                            int64_t width, cudaStream_t stream) {
    const auto blocks = [](int64_t size, int64_t each) { return static_cast<unsigned>((size + each - 1) / each); };
    int* memory = nullptr;
    const int64_t size = (1 + 2 * bins + 2 * tokens) * int64_t(sizeof(int));
    if (cudaMallocAsync(reinterpret_cast<void**>(&memory), size, stream) != cudaSuccess) return;
    int* counts = memory + 1;
    const Buckets buckets{memory, counts, counts + bins, counts + 2 * bins, counts + 2 * bins + tokens};
    cudaMemsetAsync(memory, 0, (1 + bins) * sizeof(int), stream);
    count<<<blocks(tokens, THREADS), THREADS, 0, stream>>>(buckets, index, tokens);
    place<<<blocks(bins, THREADS), THREADS, 0, stream>>>(buckets, bins);
    fill<<<blocks(tokens, THREADS), THREADS, 0, stream>>>(buckets, index, tokens);

    const bool vectors = width % (16 / sizeof(T)) == 0 && aligned(base) && aligned(source) && aligned(y);
    const int64_t packs = vectors ? width / (16 / sizeof(T)) : width;
    unsigned across = 1;
    while (across < 32 && across < packs) across *= 2;
    const dim3 threads(across, THREADS / across);
    const bool shared = tokens >= CROWDED * bins;
    const dim3 grid(shared ? unsigned(bins) : blocks(bins, threads.y), blocks(packs, across));
    const auto kernel = vectors ? add_rows<16 / sizeof(T)> : add_rows<1>;
    kernel<<<grid, threads, 0, stream>>>(base, source, y, buckets, bins, width, shared);
    cudaFreeAsync(memory, stream);
}
