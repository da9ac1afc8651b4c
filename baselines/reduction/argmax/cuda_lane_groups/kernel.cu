// Place of the largest value of each row (torch.argmax), bound by reading x once; NaN is greater than every number. A
// group of threads, as many as a row can use, shares a row: vectors of 16 bytes from the first multiple of 16 on,
// single elements before and behind them.
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, UNROLL = 4;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

struct Found {
    float value;
    int place;  // a row fits in 32 bits, the tensor need not

    __device__ void meet(float other, int other_place) {
        if (other > value || (other != other && value == value)) {
            value = other;
            place = other_place;
        }
    }
    // Of equal values the first one, so that the result does not depend on who has which element.
    __device__ void meet(Found other) {
        const bool equal = other.value == value || (other.value != other.value && value != value);
        if (equal)
            place = min(place, other.place);
        else
            meet(other.value, other.place);
    }
};

// What `lanes` neighbouring threads have found, joined; a power of two up to the size of the block.
__device__ Found join_lanes(Found found, int lanes) {
    __shared__ Found partial[THREADS / 32];
    for (int offset = min(lanes, 32) / 2; offset > 0; offset /= 2) {
        const float value = __shfl_xor_sync(0xffffffffu, found.value, offset);
        const int place = __shfl_xor_sync(0xffffffffu, found.place, offset);
        found.meet({value, place});
    }
    if (lanes <= 32) return found;
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = found;
    __syncthreads();
    const int first = threadIdx.x / lanes * (lanes / 32);
    found = partial[first];
    for (int warp = 1; warp < lanes / 32; ++warp) found.meet(partial[first + warp]);
    return found;
}

__global__ void __launch_bounds__(THREADS)
    find_places(const T* __restrict__ x, int64_t* __restrict__ index, int64_t rows, int cols, int lanes) {
    constexpr int V = 16 / sizeof(T);
    const int64_t row = (int64_t(blockIdx.x) * THREADS + threadIdx.x) / lanes;
    const int lane = threadIdx.x % lanes;
    // A row of minus infinities has its largest value at any place, the first included.
    Found found{-INFINITY, 0};
    if (row < rows) {
        const T* from = x + row * cols;
        const int head = min(int((16 - reinterpret_cast<uintptr_t>(from) % 16) % 16 / sizeof(T)), cols);
        const int vectors = (cols - head) / V;
        const auto* packs = reinterpret_cast<const Pack<V>*>(from + head);
        for (int i = lane; i < head; i += lanes) found.meet(float(from[i]), i);
        int v = lane;
        for (; v + (UNROLL - 1) * lanes < vectors; v += UNROLL * lanes) {
            Pack<V> held[UNROLL];
#pragma unroll
            for (int i = 0; i < UNROLL; ++i) held[i] = packs[v + i * lanes];
#pragma unroll
            for (int i = 0; i < UNROLL; ++i)
#pragma unroll
                for (int e = 0; e < V; ++e) found.meet(float(held[i].at[e]), head + (v + i * lanes) * V + e);
        }
        for (; v < vectors; v += lanes) {
            const Pack<V> pack = packs[v];
#pragma unroll
            for (int e = 0; e < V; ++e) found.meet(float(pack.at[e]), head + v * V + e);
        }
        for (int i = head + vectors * V + lane; i < cols; i += lanes) found.meet(float(from[i]), i);
    }
    found = join_lanes(found, lanes);  // groups past the end stay for it
    if (row < rows && lane == 0) index[row] = found.place;
}

}  // namespace

extern "C" void argmax(const T* x, int64_t* index, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (rows == 0) return;  // a grid must not be empty
    int lanes = 1;
    while (lanes < THREADS && lanes * UNROLL * int64_t(16 / sizeof(T)) < cols) lanes *= 2;
    const auto blocks = static_cast<unsigned>((rows * lanes + THREADS - 1) / THREADS);
    find_places<<<blocks, THREADS, 0, stream>>>(x, index, rows, int(cols), lanes);
}
