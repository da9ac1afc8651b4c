// Permutation of tokens by expert (Gale et al. 2022, section 5.2) by a stable counting sort. Blocks count the choices
// of their chunks; then a block adds the counts of those before it, and its warps rank the choices in order, 32 at a
// time. Last, each row of x is read once and written to all of its places.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, WARPS = THREADS / 32, MAX_EXPERTS = 128, MAX_CHUNKS = 512;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// counts[chunk][expert]
__global__ void __launch_bounds__(THREADS)
    count(const int64_t* __restrict__ expert, int* __restrict__ counts, int choices, int experts, int per_warp) {
    __shared__ int own[MAX_EXPERTS];
    if (threadIdx.x < experts) own[threadIdx.x] = 0;
    __syncthreads();
    const int begin = blockIdx.x * WARPS * per_warp, end = min(begin + WARPS * per_warp, choices);
    for (int i = begin + threadIdx.x; i < end; i += THREADS) atomicAdd(&own[expert[i]], 1);
    __syncthreads();
    if (threadIdx.x < experts) counts[blockIdx.x * experts + threadIdx.x] = own[threadIdx.x];
}

// A block for each chunk, whose warps have neighbouring stretches of choices. A single chunk has no counts.
__global__ void __launch_bounds__(THREADS)
    find_places(const int64_t* __restrict__ expert, const int* __restrict__ counts, int64_t* __restrict__ place,
                int64_t* __restrict__ offsets, int choices, int experts, int per_warp) {
    __shared__ int next[WARPS][MAX_EXPERTS], ends[WARPS];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, own = threadIdx.x;
    const int begin = min((int(blockIdx.x) * WARPS + warp) * per_warp, choices), end = min(begin + per_warp, choices);
    for (int i = lane; i < experts; i += 32) next[warp][i] = 0;
    __syncwarp();
    for (int i = begin + lane; i < end; i += 32) atomicAdd(&next[warp][expert[i]], 1);
    __syncthreads();

    // A thread for each expert: how many choices of it there are, and how many before this block's.
    int total = 0, before = 0;
    if (own < experts && counts) {
#pragma unroll 8
        for (int chunk = 0; chunk < gridDim.x; ++chunk) {
            const int size = counts[chunk * experts + own];
            total += size;
            before += chunk < blockIdx.x ? size : 0;
        }
    } else if (own < experts) {
        for (int i = 0; i < WARPS; ++i) total += next[i][own];
    }
    int last = total;
    for (int step = 1; step < 32; step *= 2) {
        const int lower = __shfl_up_sync(0xffffffffu, last, step);
        if (lane >= step) last += lower;
    }
    if (lane == 31) ends[warp] = last;
    __syncthreads();
    for (int i = 0; i < warp; ++i) last += ends[i];
    // The thread behind the last expert's has the number of all choices.
    if (blockIdx.x == 0 && own <= experts) offsets[own] = last - total;
    // From numbers of choices to the next place of each warp.
    if (own < experts) {
        int first = last - total + before;
        for (int i = 0; i < WARPS; ++i) {
            const int size = next[i][own];
            next[i][own] = first;
            first += size;
        }
    }
    __syncthreads();

    for (int start = begin; start < end; start += 32) {
        const bool inside = start + lane < end;
        const int mine = inside ? int(expert[start + lane]) : -1;
        const unsigned same = __match_any_sync(0xffffffffu, mine);
        const int rank = __popc(same & ((1u << lane) - 1));
        const int first = inside ? next[warp][mine] : 0;
        __syncwarp();  // all have read before one of them writes
        if (inside && rank == 0) next[warp][mine] = first + __popc(same);
        if (inside) place[start + lane] = first + rank;
        __syncwarp();
    }
}

// A thread has V columns of a token.
template <int V>
__global__ void __launch_bounds__(THREADS) copy_rows(const T* __restrict__ x, const int64_t* __restrict__ place,
                                                     T* __restrict__ y, int64_t tokens, int chosen, int64_t width) {
    const int64_t token = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
    const int64_t col = (int64_t(blockIdx.y) * blockDim.x + threadIdx.x) * V;
    if (token >= tokens || col >= width) return;
    const auto value = *reinterpret_cast<const Pack<V>*>(x + token * width + col);
#pragma unroll 4
    for (int i = 0; i < chosen; ++i)
        *reinterpret_cast<Pack<V>*>(y + place[token * chosen + i] * width + col) = value;
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void permute(const T* x, const int64_t* expert, int64_t, T* y, int64_t* place, int64_t* offsets,
                        int64_t tokens, int64_t chosen, int64_t experts, int64_t width, cudaStream_t stream) {
    const int64_t choices = tokens * chosen;  // fits in 32 bits, unlike the number of elements
    // At least 128 choices a warp, and not too many chunks: each block adds up what all of them have counted.
    const int64_t per_warp = std::max<int64_t>(128, (choices / (MAX_CHUNKS * WARPS) + 32) / 32 * 32);
    const auto chunks = static_cast<unsigned>((choices + WARPS * per_warp - 1) / (WARPS * per_warp));
    int* counts = nullptr;
    if (chunks > 1) {
        const int64_t size = chunks * experts * int64_t(sizeof(int));
        if (cudaMallocAsync(reinterpret_cast<void**>(&counts), size, stream) != cudaSuccess) return;
        count<<<chunks, THREADS, 0, stream>>>(expert, counts, int(choices), int(experts), int(per_warp));
    }
    find_places<<<chunks, THREADS, 0, stream>>>(expert, counts, place, offsets, int(choices), int(experts),
                                                int(per_warp));
    constexpr int V = 16 / sizeof(T);
    const bool vectors = width % V == 0 && aligned(x) && aligned(y);
    const int64_t packs = vectors ? width / V : width;
    unsigned across = 1;
    while (across < THREADS && across < packs) across *= 2;
    const dim3 threads(across, THREADS / across);
    const dim3 grid(static_cast<unsigned>((tokens + threads.y - 1) / threads.y),
                    static_cast<unsigned>((packs + across - 1) / across));
    const auto kernel = vectors ? copy_rows<V> : copy_rows<1>;
    kernel<<<grid, threads, 0, stream>>>(x, place, y, tokens, int(chosen), width);
    if (counts) cudaFreeAsync(counts, stream);
}
