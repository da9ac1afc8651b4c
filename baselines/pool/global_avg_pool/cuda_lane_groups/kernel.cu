// Mean of each plane of an image (Lin, Chen and Yan 2013, section 3.2), bound by reading it once. A group of lanes, as
// many as a plane can use, works on a plane: 1 to 32 lanes of a warp, or a whole block where planes are large. They go
// in 16-byte vectors, wherever they begin; what lies around the whole vectors is added one by one.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int V = 16 / sizeof(T), UNROLL = 4;

// V neighbouring elements, moved in one transaction.
struct alignas(16) Pack {
    T at[V];
};

// What a lane adds to the sum of a plane; its vectors are `lanes` apart.
__device__ float add(const T* plane, int64_t places, int lane, int lanes) {
    const int64_t misplaced = reinterpret_cast<uintptr_t>(plane) / sizeof(T) % V;
    const int64_t head = min(places, (V - misplaced) % V), vectors = (places - head) / V, tail = head + vectors * V;
    const auto* from = reinterpret_cast<const Pack*>(plane + head);
    float total[UNROLL] = {};
    int64_t v = lane;
    for (; v + (UNROLL - 1) * lanes < vectors; v += UNROLL * lanes) {
        Pack pack[UNROLL];  // so many loads are in flight
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) pack[u] = from[v + u * lanes];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int e = 0; e < V; ++e) total[u] += float(pack[u].at[e]);
    }
    for (; v < vectors; v += lanes) {
        const Pack pack = from[v];
#pragma unroll
        for (int e = 0; e < V; ++e) total[0] += float(pack.at[e]);
    }
    for (int64_t place = lane; place < head; place += lanes) total[1] += float(plane[place]);
    for (int64_t place = tail + lane; place < places; place += lanes) total[2] += float(plane[place]);
    return (total[0] + total[1]) + (total[2] + total[3]);
}

// The sum over groups of `lanes` neighbours, a power of two up to 32.
__device__ float group_sum(float value, int lanes) {
    for (int offset = lanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

__global__ void __launch_bounds__(256)
    average_by_warps(const T* __restrict__ x, T* __restrict__ y, int64_t planes, int64_t places, int lanes) {
    const int64_t plane = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / lanes;
    const int lane = threadIdx.x % lanes;
    // Groups past the end stay for the shuffles.
    const float total = group_sum(plane < planes ? add(x + plane * places, places, lane, lanes) : 0.0f, lanes);
    if (plane < planes && lane == 0) y[plane] = T(total / float(places));
}

__global__ void __launch_bounds__(1024)
    average_by_blocks(const T* __restrict__ x, T* __restrict__ y, int64_t places) {
    __shared__ float partial[32];
    const int64_t plane = blockIdx.x;
    const float total = group_sum(add(x + plane * places, places, threadIdx.x, blockDim.x), 32);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const float sum = group_sum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f, 32);
    if (threadIdx.x == 0) y[plane] = T(sum / float(places));
}

}  // namespace

extern "C" void global_avg_pool(const T* x, T* y, int64_t batch, int64_t channels, int64_t height, int64_t width,
                                cudaStream_t stream) {
    const int64_t planes = batch * channels, places = height * width;
    if (places / V > 32 * 4 * UNROLL) {
        // Few planes get large blocks, to keep a GPU busy; with many, threads of small ones wait less for each other.
        const int threads = planes < 1024 ? 1024 : 256;
        average_by_blocks<<<static_cast<unsigned>(planes), threads, 0, stream>>>(x, y, places);
        return;
    }
    int lanes = 1;
    while (lanes < 32 && lanes * V < places) lanes *= 2;
    const auto blocks = static_cast<unsigned>((planes * lanes + 255) / 256);
    average_by_warps<<<blocks, 256, 0, stream>>>(x, y, planes, places, lanes);
}
