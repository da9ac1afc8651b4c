// Instance normalisation (Ulyanov, Vedaldi and Lempitsky 2016). A team, a warp or a block as the plane is small or
// large, measures a plane in one visit and normalises it in a second, which finds most of it in the L1 and L2 caches.
// Moments of parts are merged (Chan, Golub and LeVeque 1983): nothing cancels, and equal values have no variance.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr float EPSILON = 1e-5f;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// Number, mean and sum of squared deviations of some elements.
struct Moments {
    float count, mean, squares;
};

__device__ Moments merge(Moments a, Moments b) {
    const float count = a.count + b.count, gap = b.mean - a.mean;
    const float share = __fdividef(b.count, fmaxf(count, 1.0f));  // its last bits do not matter
    return {count, a.mean + gap * share, a.squares + b.squares + gap * gap * a.count * share};
}

// V, a power of two; the sum of equal values is exact.
template <int V>
__device__ Moments measure(const Pack<V>& pack) {
    float sum[V], squares = 0.0f;
#pragma unroll
    for (int e = 0; e < V; ++e) sum[e] = float(pack.at[e]);
#pragma unroll
    for (int width = V / 2; width > 0; width /= 2)
#pragma unroll
        for (int e = 0; e < width; ++e) sum[e] += sum[e + width];
    const float mean = sum[0] / V;
#pragma unroll
    for (int e = 0; e < V; ++e) squares += (float(pack.at[e]) - mean) * (float(pack.at[e]) - mean);
    return {float(V), mean, squares};
}

// The first lane gets the moments of the warp.
__device__ Moments warp_merge(Moments value) {
    for (int offset = 16; offset > 0; offset /= 2)
        value = merge(value, {__shfl_down_sync(0xffffffffu, value.count, offset),
                              __shfl_down_sync(0xffffffffu, value.mean, offset),
                              __shfl_down_sync(0xffffffffu, value.squares, offset)});
    return value;
}

// threadIdx.x counts the threads of a team, threadIdx.y the teams of a block: one, or warps with a plane each.
template <int V>
__global__ void __launch_bounds__(1024)
    normalise_planes(const T* __restrict__ x, const T* __restrict__ weight, const T* __restrict__ bias,
                     T* __restrict__ y, int64_t planes, int64_t channels, int places) {
    __shared__ Moments partial[32];
    const int64_t plane = int64_t(blockIdx.x) * blockDim.y + threadIdx.y;
    if (plane >= planes) return;  // a whole warp of several, or nobody
    const int lane = threadIdx.x, lanes = blockDim.x;
    const T* from = x + plane * places;
    T* to = y + plane * places;
    // Whole vectors, wherever the plane begins, and fewer than V elements on each side of them.
    const int misplaced = reinterpret_cast<uintptr_t>(from) / sizeof(T) % V, head = min(places, (V - misplaced) % V);
    const int vectors = (places - head) / V, tail = head + vectors * V;
    const auto* sources = reinterpret_cast<const Pack<V>*>(from + head);
    auto* targets = reinterpret_cast<Pack<V>*>(to + head);

    Moments all{0.0f, 0.0f, 0.0f};
#pragma unroll 4
    for (int v = lane; v < vectors; v += lanes) all = merge(all, measure<V>(sources[v]));
    if (lane < head) all = merge(all, {1.0f, float(from[lane]), 0.0f});
    if (tail + lane < places) all = merge(all, {1.0f, float(from[tail + lane]), 0.0f});

    all = warp_merge(all);
    if (lanes > 32) {
        if (lane % 32 == 0) partial[lane / 32] = all;
        __syncthreads();
        all = warp_merge(lane % 32 < lanes / 32 ? partial[lane % 32] : Moments{0.0f, 0.0f, 0.0f});
    }
    const float mean = __shfl_sync(0xffffffffu, all.mean, 0), squares = __shfl_sync(0xffffffffu, all.squares, 0);
    const float scale = 1.0f / sqrtf(squares / places + EPSILON) * float(weight[plane % channels]);
    const float offset = float(bias[plane % channels]);
    const auto normalise = [=](T value) { return T((float(value) - mean) * scale + offset); };
    for (int v = lane; v < vectors; v += lanes) {
        Pack<V> pack = sources[v];
#pragma unroll
        for (int e = 0; e < V; ++e) pack.at[e] = normalise(pack.at[e]);
        targets[v] = pack;
    }
    if (lane < head) to[lane] = normalise(from[lane]);
    if (tail + lane < places) to[tail + lane] = normalise(from[tail + lane]);
}

template <int V>
void launch(const T* x, const T* weight, const T* bias, T* y, int64_t planes, int64_t channels, int64_t places,
            cudaStream_t stream) {
    // Planes of up to eight vectors a lane go to warps; of a larger one each thread of a block has eight, if it can.
    const auto warps = static_cast<unsigned>(std::min<int64_t>((places / V + 255) / 256, 32));
    const dim3 threads = warps > 1 ? dim3(32 * warps) : dim3(32, 8);
    const auto blocks = static_cast<unsigned>((planes + threads.y - 1) / threads.y);
    normalise_planes<V><<<blocks, threads, 0, stream>>>(x, weight, bias, y, planes, channels, static_cast<int>(places));
}

}  // namespace

extern "C" void instance_norm(const T* x, const T* weight, const T* bias, T* y, int64_t batch, int64_t channels,
                              int64_t height, int64_t width, cudaStream_t stream) {
    // x and y may begin anywhere, but for vectors both planes must begin at the same distance from an aligned address.
    const bool vectors = (reinterpret_cast<uintptr_t>(x) - reinterpret_cast<uintptr_t>(y)) % 16 == 0;
    (vectors ? launch<16 / sizeof(T)> : launch<1>)(x, weight, bias, y, batch * channels, channels, height * width,
                                                   stream);
}
