// Suffix sum of each row (Blelloch 1990, section 1.1, backwards), a block for a row. A tile of it, read and written in
// whole lines, is turned over in shared memory, so that each thread adds up eight neighbours; warps join these sums by
// doubling (Hillis and Steele 1986), and a carry goes from tile to tile. Places count from the end of the row.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int ITEMS = 8;  // of a tile, for each thread

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Every 32 elements a gap of one, so that threads that read eight elements each meet in none of the memory's banks.
__device__ int spread(int place) { return place + place / 32; }

// Sums over the lanes up to this one.
__device__ float warp_scan(float value) {
    const int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        const float before = __shfl_up_sync(0xffffffffu, value, step);
        if (lane >= step) value += before;
    }
    return value;
}

// What lies before a lane is handed on by its neighbour, never got by subtraction: an infinity must not spread
// backwards.
__device__ float from_lane_before(float value) {
    const float before = __shfl_up_sync(0xffffffffu, value, 1);
    return threadIdx.x % 32 == 0 ? 0.0f : before;
}

template <int V>
__global__ void __launch_bounds__(1024) scan_rows(const T* __restrict__ x, T* __restrict__ y, int64_t cols) {
    extern __shared__ float tile[];
    __shared__ float ends[32];
    const int size = blockDim.x * ITEMS, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const T* from = x + blockIdx.x * cols;
    T* to = y + blockIdx.x * cols;
    Pack<V> held[ITEMS / V];
    const auto fetch = [&](int64_t start) {
#pragma unroll
        for (int i = 0; i < ITEMS / V; ++i) {
            const int64_t place = start + (i * blockDim.x + threadIdx.x) * V;
            held[i] = place < cols ? *reinterpret_cast<const Pack<V>*>(from + cols - V - place) : Pack<V>{};
        }
    };

    fetch(0);
    float carry = 0.0f;
    for (int64_t start = 0; start < cols; start += size) {
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const int place = (i / V * blockDim.x + threadIdx.x) * V + i % V;
            tile[spread(place)] = float(held[i / V].at[V - 1 - i % V]);
        }
        __syncthreads();
        if (start + size < cols) fetch(start + size);  // under way during the scan
        float own[ITEMS], sum = 0.0f;
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) own[i] = sum += tile[spread(threadIdx.x * ITEMS + i)];
        const float upto = warp_scan(sum);
        if (lane == 31) ends[warp] = upto;
        __syncthreads();
        // Each warp scans the sums of all warps for itself.
        const float warps = warp_scan(lane < blockDim.x / 32 ? ends[lane] : 0.0f);
        const float warps_before = __shfl_sync(0xffffffffu, from_lane_before(warps), warp);
        const float before = carry + (warps_before + from_lane_before(upto));
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) tile[spread(threadIdx.x * ITEMS + i)] = before + own[i];
        carry += __shfl_sync(0xffffffffu, warps, 31);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS / V; ++i) {
            const int first = (i * blockDim.x + threadIdx.x) * V;
            const int64_t place = start + first;
            if (place >= cols) continue;
            Pack<V> result;
#pragma unroll
            for (int e = 0; e < V; ++e) result.at[V - 1 - e] = T(tile[spread(first + e)]);
            *reinterpret_cast<Pack<V>*>(to + cols - V - place) = result;
        }
    }
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void cumsum_reverse(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const auto kernel = cols % V == 0 && aligned(x) && aligned(y) ? scan_rows<V> : scan_rows<1>;
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>((cols + 32 * ITEMS - 1) / (32 * ITEMS), 32));
    const unsigned size = threads * ITEMS;
    kernel<<<static_cast<unsigned>(rows), threads, (size + size / 32) * sizeof(float), stream>>>(x, y, cols);
}
