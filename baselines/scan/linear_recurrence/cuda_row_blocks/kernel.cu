// Linear recurrence h = decay * h + x along each row as a scan of pairs (Blelloch 1990, section 1.4), a block for a
// row. A tile of it, read and written in whole lines, is turned over in shared memory, so that each thread joins eight
// neighbours; warps join these by doubling (Hillis and Steele 1986), and the last h goes from tile to tile.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int ITEMS = 8, MAX_THREADS = 512;  // items of a tile, for each thread

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// What a stretch of a row makes of the h before it: factor * h + term.
struct Stretch {
    float factor, term;

    __device__ float operator()(float h) const { return factor * h + term; }
    __device__ Stretch then(Stretch next) const { return {factor * next.factor, next(term)}; }
    __device__ Stretch from_lane_before(int step) const {
        return {__shfl_up_sync(0xffffffffu, factor, step), __shfl_up_sync(0xffffffffu, term, step)};
    }
    __device__ Stretch from_lane(int lane) const {
        return {__shfl_sync(0xffffffffu, factor, lane), __shfl_sync(0xffffffffu, term, lane)};
    }
};

// All stretches up to this lane's, joined.
__device__ Stretch warp_scan(Stretch stretch) {
    const int lane = threadIdx.x % 32;
    for (int step = 1; step < 32; step *= 2) {
        const Stretch before = stretch.from_lane_before(step);
        if (lane >= step) stretch = before.then(stretch);
    }
    return stretch;
}

// Every 32 elements a gap of one, so that threads that read eight elements each meet in none of the memory's banks.
__device__ int spread(int place) { return place + place / 32; }

template <int V>
__global__ void __launch_bounds__(MAX_THREADS)
    scan_rows(const T* __restrict__ x, const T* __restrict__ decay, T* __restrict__ h, int64_t cols) {
    __shared__ float terms[MAX_THREADS * ITEMS * 33 / 32], factors[MAX_THREADS * ITEMS * 33 / 32];
    __shared__ Stretch ends[MAX_THREADS / 32];
    const int size = blockDim.x * ITEMS, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int64_t row = blockIdx.x * cols;
    Pack<V> next_terms[ITEMS / V], next_factors[ITEMS / V];
    const auto fetch = [&](int64_t start) {
#pragma unroll
        for (int i = 0; i < ITEMS / V; ++i) {
            const int64_t col = start + (i * blockDim.x + threadIdx.x) * V;
            next_terms[i] = col < cols ? *reinterpret_cast<const Pack<V>*>(x + row + col) : Pack<V>{};
            next_factors[i] = col < cols ? *reinterpret_cast<const Pack<V>*>(decay + row + col) : Pack<V>{};
        }
    };

    fetch(0);
    float carry = 0.0f;
    for (int64_t start = 0; start < cols; start += size) {
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const int place = (i / V * blockDim.x + threadIdx.x) * V + i % V;
            terms[spread(place)] = float(next_terms[i / V].at[i % V]);
            // Nothing comes before the first column: its factor plays no part, whatever it is.
            factors[spread(place)] = start + place == 0 ? 0.0f : float(next_factors[i / V].at[i % V]);
        }
        __syncthreads();
        if (start + size < cols) fetch(start + size);  // under way during the scan
        Stretch own[ITEMS], all{1.0f, 0.0f};
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            const int place = spread(threadIdx.x * ITEMS + i);
            own[i] = {factors[place], terms[place]};
            all = all.then(own[i]);
        }
        const Stretch upto = warp_scan(all);
        if (lane == 31) ends[warp] = upto;
        __syncthreads();
        // Each warp scans the ends of all warps for itself.
        const Stretch warps = warp_scan(lane < blockDim.x / 32 ? ends[lane] : Stretch{1.0f, 0.0f});
        const Stretch warps_before = warps.from_lane(max(warp - 1, 0)), before = upto.from_lane_before(1);
        float state = warp > 0 ? warps_before(carry) : carry;
        if (lane > 0) state = before(state);
#pragma unroll
        for (int i = 0; i < ITEMS; ++i) {
            state = own[i](state);
            terms[spread(threadIdx.x * ITEMS + i)] = state;
        }
        carry = warps.from_lane(31)(carry);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < ITEMS / V; ++i) {
            const int first = (i * blockDim.x + threadIdx.x) * V;
            if (start + first >= cols) continue;
            Pack<V> result;
#pragma unroll
            for (int e = 0; e < V; ++e) result.at[e] = T(terms[spread(first + e)]);
            *reinterpret_cast<Pack<V>*>(h + row + start + first) = result;
        }
    }
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void linear_recurrence(const T* x, const T* decay, T* h, int64_t rows, int64_t cols, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const auto kernel = cols % V == 0 && aligned(x) && aligned(decay) && aligned(h) ? scan_rows<V> : scan_rows<1>;
    const int64_t warps = std::min<int64_t>((cols + 32 * ITEMS - 1) / (32 * ITEMS), MAX_THREADS / 32);
    kernel<<<static_cast<unsigned>(rows), static_cast<unsigned>(32 * warps), 0, stream>>>(x, decay, h, cols);
}
