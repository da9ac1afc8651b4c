// Batch normalisation at inference (Ioffe and Szegedy 2015, algorithm 2). x is one long array of vectors of 16 bytes;
// where a vector crosses from one channel into the next, it changes parameters.
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr float EPSILON = 1e-5f;
constexpr int THREADS = 128;
// What a thread moves: all of it is loaded before the first is needed.
constexpr int BYTES = 32;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// The parameters of all channels, which stay in the L1 cache.
struct Channels {
    const T *weight, *bias, *mean, *variance;
    unsigned count;
};

// One channel's map: the mean is subtracted first, so that nothing cancels but what cancels in the formula itself.
struct Map {
    float mean, scale, shift;

    __device__ Map(const Channels& all, unsigned channel)
        : mean(float(all.mean[channel])),
          scale(float(all.weight[channel]) / sqrtf(float(all.variance[channel]) + EPSILON)),
          shift(float(all.bias[channel])) {}
    __device__ T operator()(T value) const { return T((float(value) - mean) * scale + shift); }
};

template <int V>
__global__ void __launch_bounds__(THREADS) normalise(const T* __restrict__ x, Channels channels, T* __restrict__ y,
                                                     unsigned area, int64_t count) {
    constexpr int HELD = BYTES / sizeof(Pack<V>);
    const auto* from = reinterpret_cast<const Pack<V>*>(x);
    auto* to = reinterpret_cast<Pack<V>*>(y);
    const int64_t vectors = count / V, start = int64_t(blockIdx.x) * (THREADS * HELD);
    Pack<V> value[HELD];
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        const int64_t v = start + i * THREADS + threadIdx.x;
        if (v < vectors) value[i] = from[v];
    }
    // The block's first element lies in this plane, a channel of an image. The 64-bit divisions are the block's; a
    // thread divides its distance from the start of that plane, which is below 2^32.
    const int64_t plane = start * V / area;
    const auto behind = static_cast<unsigned>(start * V - plane * area);
    const auto first = static_cast<unsigned>(plane % channels.count);
#pragma unroll
    for (int i = 0; i < HELD; ++i) {
        const int64_t v = start + i * THREADS + threadIdx.x;
        if (v >= vectors) continue;
        const unsigned distance = behind + (i * THREADS + threadIdx.x) * V, planes = distance / area;
        unsigned place = distance - planes * area, channel = (first + planes) % channels.count;
        Map map(channels, channel);
#pragma unroll
        for (int e = 0; e < V; ++e, ++place) {
            if (place == area) {
                place = 0;
                channel = channel + 1 == channels.count ? 0 : channel + 1;
                map = Map(channels, channel);
            }
            value[i].at[e] = map(value[i].at[e]);
        }
        to[v] = value[i];
    }
    // Fewer than V elements lie behind the whole vectors.
    const int64_t rest = vectors * V + threadIdx.x;
    if (blockIdx.x == 0 && rest < count) y[rest] = Map(channels, unsigned(rest / area % channels.count))(x[rest]);
}

template <int V>
void launch(const T* x, const Channels& channels, T* y, int64_t area, int64_t count, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>(count / (THREADS * BYTES / int64_t(sizeof(T))) + 1);
    normalise<V><<<blocks, THREADS, 0, stream>>>(x, channels, y, static_cast<unsigned>(area), count);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void batch_norm(const T* x, const T* weight, const T* bias, const T* running_mean, const T* running_var,
                           T* y, int64_t batch, int64_t channels, int64_t height, int64_t width,
                           cudaStream_t stream) {
    const Channels all{weight, bias, running_mean, running_var, static_cast<unsigned>(channels)};
    const int64_t area = height * width, count = batch * channels * area;
    (aligned(x) && aligned(y) ? launch<16 / sizeof(T)> : launch<1>)(x, all, y, area, count, stream);
}
