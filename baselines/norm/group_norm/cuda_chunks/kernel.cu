// Group normalisation (Wu and He 2018, eq. 1, 2 and 7). A block normalises a group, of which it keeps what it can in
// registers; where groups are few and large, several blocks share one. Mean and squared deviations of parts are merged
// as by Chan, Golub and LeVeque (1983): one pass, and no cancellation when the mean is large.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr float EPSILON = 1e-5f;
constexpr int HELD = 4;
// The parts of all shared groups. The C ABI has no workspace; being the module's own, this one allows calls on one
// stream at a time.
constexpr int MAX_PARTS = 1024;

struct Moments {
    float count, mean, squares;  // squares: the sum of squared deviations from the mean
};
__device__ Moments parts[MAX_PARTS];

__device__ Moments merge(Moments a, Moments b) {
    const float count = a.count + b.count, share = count > 0.0f ? b.count / count : 0.0f, apart = b.mean - a.mean;
    return {count, a.mean + apart * share, a.squares + b.squares + apart * apart * (a.count * share)};
}

__device__ Moments warp_merge(Moments m) {
    for (int offset = 16; offset > 0; offset /= 2)
        m = merge(m, {__shfl_xor_sync(0xffffffffu, m.count, offset), __shfl_xor_sync(0xffffffffu, m.mean, offset),
                      __shfl_xor_sync(0xffffffffu, m.squares, offset)});
    return m;
}

// Every thread gets the moments of the whole block, whose size is a multiple of 32.
__device__ Moments block_merge(Moments m) {
    __shared__ Moments partial[32];
    m = warp_merge(m);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = m;
    __syncthreads();
    return warp_merge(threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : Moments{});
}

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// The next HELD vectors of a thread, of those before `end`.
template <int V>
struct Batch {
    Pack<V> at[HELD];

    __device__ void load(const T* group, int64_t first, int64_t end) {
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (first + i * blockDim.x < end) at[i] = reinterpret_cast<const Pack<V>*>(group)[first + i * blockDim.x];
    }
    // visit(vector, its place in the group)
    template <typename Visit>
    __device__ void each(int64_t first, int64_t end, Visit visit) {
#pragma unroll
        for (int i = 0; i < HELD; ++i)
            if (first + i * blockDim.x < end) visit(at[i], first + i * blockDim.x);
    }
    __device__ Moments moments(int64_t first, int64_t end) {
        Moments m{};
        each(first, end, [&](const Pack<V>& value, int64_t) {
#pragma unroll
            for (int e = 0; e < V; ++e) m.mean += float(value.at[e]);
            m.count += V;
        });
        m.mean = m.count > 0.0f ? m.mean / m.count : 0.0f;
        each(first, end, [&](const Pack<V>& value, int64_t) {
#pragma unroll
            for (int e = 0; e < V; ++e) m.squares += (float(value.at[e]) - m.mean) * (float(value.at[e]) - m.mean);
        });
        return m;
    }
};

enum Step { ALL, MEASURE, NORMALISE };

// A block works on one of the `splits` parts of a group, `span` vectors: with ALL on a whole group, or in two launches.
template <int V, Step STEP>
__global__ void __launch_bounds__(1024) group_norm_part(const T* __restrict__ x, const T* __restrict__ weight,
                                                        const T* __restrict__ bias, T* __restrict__ y, int64_t groups,
                                                        int64_t depth, unsigned area, unsigned splits, int64_t span) {
    const int64_t group = blockIdx.x / splits, part = blockIdx.x % splits, size = depth * area;
    const int64_t begin = part * span + threadIdx.x, stride = HELD * blockDim.x;
    const int64_t end = size / V < (part + 1) * span ? size / V : (part + 1) * span;
    const T* from = x + group * size;
    Batch<V> held, more;
    held.load(from, begin, end);
    Moments m{};
    if (STEP == NORMALISE) {
        for (unsigned s = threadIdx.x; s < splits; s += blockDim.x) m = merge(m, parts[group * splits + s]);
    } else {
        m = held.moments(begin, end);
        for (int64_t at = begin + stride; at < end; at += stride) {
            more.load(from, at, end);
            m = merge(m, more.moments(at, end));
        }
    }
    m = block_merge(m);
    if (STEP == MEASURE) {
        if (threadIdx.x == 0) parts[blockIdx.x] = m;
        return;
    }
    const float scale = 1.0f / sqrtf(m.squares / m.count + EPSILON);
    const int64_t channels = group % groups * depth;
    const auto normalise = [&](Pack<V>& value, int64_t v) {
        const auto position = static_cast<unsigned>(v * V);
        int64_t channel = channels + position / area;
        unsigned place = position % area;
        float gain = scale * float(weight[channel]), shift = float(bias[channel]);
#pragma unroll
        for (int e = 0; e < V; ++e, ++place) {
            if (place == area) {  // a vector may cross into the next channel
                place = 0;
                gain = scale * float(weight[++channel]), shift = float(bias[channel]);
            }
            value.at[e] = T((float(value.at[e]) - m.mean) * gain + shift);
        }
        reinterpret_cast<Pack<V>*>(y + group * size)[v] = value;
    };
    held.each(begin, end, normalise);
    for (int64_t at = begin + stride; at < end; at += stride) {
        more.load(from, at, end);
        more.each(at, end, normalise);
    }
}

template <int V>
void launch(const T* x, const T* weight, const T* bias, T* y, int64_t batch, int64_t groups, int64_t depth,
            int64_t area, cudaStream_t stream) {
    const int64_t total = batch * groups, vectors = depth * area / V;
    const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    // Two blocks for each of 132 multiprocessors; with fewer groups, those that a small block cannot hold are shared.
    int64_t splits = 1;
    if (total < 264) splits = std::min({up(528, total), MAX_PARTS / total, up(vectors, 256 * HELD)});
    const auto blocks = static_cast<unsigned>(total * splits), area32 = static_cast<unsigned>(area);
    if (splits <= 2) {
        const auto threads = static_cast<unsigned>(32 * std::min<int64_t>(up(vectors, 32 * HELD), 32));
        const auto whole = static_cast<unsigned>(total);
        group_norm_part<V, ALL>
            <<<whole, threads, 0, stream>>>(x, weight, bias, y, groups, depth, area32, 1, vectors);
        return;
    }
    const auto some = static_cast<unsigned>(splits);
    const int64_t span = up(vectors, splits);
    group_norm_part<V, MEASURE>
        <<<blocks, 256, 0, stream>>>(x, weight, bias, y, groups, depth, area32, some, span);
    group_norm_part<V, NORMALISE>
        <<<blocks, 256, 0, stream>>>(x, weight, bias, y, groups, depth, area32, some, span);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void group_norm(const T* x, int64_t num_groups, const T* weight, const T* bias, T* y, int64_t batch,
                           int64_t groups, int64_t depth, int64_t height, int64_t width, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    const int64_t area = height * width;
    const bool vectors = depth * area % V == 0 && aligned(x) && aligned(y);
    (vectors ? launch<V> : launch<1>)(x, weight, bias, y, batch, num_groups, depth, area, stream);
}
