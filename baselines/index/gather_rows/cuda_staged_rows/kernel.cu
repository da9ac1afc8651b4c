// Gather within rows (torch.gather). Reading the places is most of the traffic: a thread takes two at a time, in 16
// bytes. Where nearly all of a short row is asked for, it comes to shared memory first, as whole lines; of other rows
// single elements are read through the caches.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, UNROLL = 4;
constexpr int64_t STAGED_BYTES = 32768;  // of a row: several blocks still share a multiprocessor

// V neighbouring elements, moved in one transaction.
template <typename E, int V>
struct alignas(V * sizeof(E)) Pack {
    E at[V];
};

// y[j] = row[index[j]] for all j, by the threads of the block that share threadIdx.y; V places at a time.
template <int V>
__device__ void gather(const T* row, const int64_t* __restrict__ index, T* __restrict__ y, int64_t selected) {
    const auto* places = reinterpret_cast<const Pack<int64_t, V>*>(index);
    auto* to = reinterpret_cast<Pack<T, V>*>(y);
    const int64_t packs = selected / V;
    for (int64_t first = threadIdx.x; first < packs; first += UNROLL * blockDim.x) {
        Pack<int64_t, V> place[UNROLL];
        Pack<T, V> value[UNROLL];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i)
            if (first + i * blockDim.x < packs) place[i] = places[first + i * blockDim.x];
#pragma unroll
        for (int i = 0; i < UNROLL; ++i) {
            if (first + i * blockDim.x >= packs) continue;
#pragma unroll
            for (int e = 0; e < V; ++e) value[i].at[e] = row[place[i].at[e]];
            to[first + i * blockDim.x] = value[i];
        }
    }
}

template <int V>
__global__ void __launch_bounds__(THREADS)
    gather_rows_directly(const T* __restrict__ x, const int64_t* __restrict__ index, T* __restrict__ y, int64_t rows,
                         int64_t cols, int64_t selected) {
    for (int64_t row = int64_t(blockIdx.x) * blockDim.y + threadIdx.y; row < rows;
         row += int64_t(gridDim.x) * blockDim.y)
        gather<V>(x + row * cols, index + row * selected, y + row * selected, selected);
}

// A block for each row. The row's elements come in words of 16 bytes, or of one element where it is not aligned.
template <int V, typename Word>
__global__ void __launch_bounds__(THREADS)
    gather_staged_rows(const T* __restrict__ x, const int64_t* __restrict__ index, T* __restrict__ y, int64_t cols,
                       int64_t selected) {
    extern __shared__ uint4 staged[];
    const int64_t row = blockIdx.x;
    const auto* from = reinterpret_cast<const Word*>(x + row * cols);
    auto* words = reinterpret_cast<Word*>(staged);
#pragma unroll 4
    for (int word = threadIdx.x; word < int(cols * sizeof(T) / sizeof(Word)); word += THREADS) words[word] = from[word];
    __syncthreads();
    gather<V>(reinterpret_cast<const T*>(staged), index + row * selected, y + row * selected, selected);
}

template <int V>
void launch(const T* x, const int64_t* index, T* y, int64_t rows, int64_t cols, int64_t selected,
            cudaStream_t stream) {
    const int64_t bytes = cols * sizeof(T), packs = selected / V;
    if (bytes <= STAGED_BYTES && selected >= THREADS && 4 * selected >= cols) {
        const bool wide = bytes % 16 == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0;
        const auto kernel = wide ? gather_staged_rows<V, uint4> : gather_staged_rows<V, T>;
        kernel<<<static_cast<unsigned>(rows), THREADS, bytes, stream>>>(x, index, y, cols, selected);
        return;
    }
    unsigned across = 1;
    while (across < THREADS && across < packs && (across < 32 || across * UNROLL < packs)) across *= 2;
    const dim3 threads(across, THREADS / across);
    const auto blocks = static_cast<unsigned>(std::min<int64_t>((rows + threads.y - 1) / threads.y, INT32_MAX));
    gather_rows_directly<V><<<blocks, threads, 0, stream>>>(x, index, y, rows, cols, selected);
}

}  // namespace

extern "C" void gather_rows(const T* x, const int64_t* index, T* y, int64_t rows, int64_t cols, int64_t selected,
                            cudaStream_t stream) {
    if (rows * selected == 0) return;  // a grid must not be empty
    const bool pairs = selected % 2 == 0 && reinterpret_cast<uintptr_t>(index) % 16 == 0 &&
                       reinterpret_cast<uintptr_t>(y) % (2 * sizeof(T)) == 0;
    (pairs ? launch<2> : launch<1>)(x, index, y, rows, cols, selected, stream);
}
