// Bilinear interpolation between pixel centres (Press et al. 2007, section 3.6). Where a result's four pixels are, and
// how far it is from each, is the same in all planes: a thread finds that once, for V neighbouring results, and then
// goes through a group of planes, several of them under way at a time.
#include <algorithm>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int PLANES = 8, AT_ONCE = 4;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// The pixels before and behind a new one, and how far it is from the first of them to the second.
struct Place {
    int first, second;
    float part;
};

__device__ Place find(int index, float scale, int size) {
    const float place = (float(index) + 0.5f) * scale - 0.5f, before = floorf(place);
    const int first = int(before);
    return {min(max(first, 0), size - 1), min(max(first + 1, 0), size - 1), place - before};
}

// Beyond an edge both pixels are the same, and it is exactly their value.
__device__ float between(float first, float second, float part) { return first + part * (second - first); }

template <int V>
__global__ void __launch_bounds__(256)
    resize(const T* __restrict__ x, T* __restrict__ y, int64_t planes, int height, int width, int out_height,
           int out_width, float down_scale, float across_scale) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, col = (blockIdx.x * blockDim.x + threadIdx.x) * V;
    if (row >= out_height || col >= out_width) return;
    const Place down = find(row, down_scale, height);
    Place across[V];
#pragma unroll
    for (int e = 0; e < V; ++e) across[e] = find(col + e, across_scale, width);
    const int above = down.first * width, below = down.second * width, to = row * out_width + col;
    const int64_t size = int64_t(height) * width, out_size = int64_t(out_height) * out_width;
    const int64_t begin = int64_t(blockIdx.z) * PLANES;
#pragma unroll
    for (int start = 0; start < PLANES; start += AT_ONCE) {
        T corner[AT_ONCE][V][4];
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) {
            if (begin + start + p >= planes) continue;
            const T* image = x + (begin + start + p) * size;
#pragma unroll
            for (int e = 0; e < V; ++e) {
                corner[p][e][0] = image[above + across[e].first];
                corner[p][e][1] = image[above + across[e].second];
                corner[p][e][2] = image[below + across[e].first];
                corner[p][e][3] = image[below + across[e].second];
            }
        }
#pragma unroll
        for (int p = 0; p < AT_ONCE; ++p) {
            if (begin + start + p >= planes) continue;
            Pack<V> result;
#pragma unroll
            for (int e = 0; e < V; ++e) {
                const T(&four)[4] = corner[p][e];
                const float upper = between(float(four[0]), float(four[1]), across[e].part);
                const float lower = between(float(four[2]), float(four[3]), across[e].part);
                result.at[e] = T(between(upper, lower, down.part));
            }
            *reinterpret_cast<Pack<V>*>(y + (begin + start + p) * out_size + to) = result;
        }
    }
}

template <int V>
void launch(const T* x, T* y, int64_t planes, int height, int width, int out_height, int out_width,
            cudaStream_t stream) {
    const int packs = out_width / V;
    int across = 4;
    while (across < 64 && across < packs) across *= 2;
    const dim3 threads(across, 256 / across);
    const dim3 grid((packs + across - 1) / across, (out_height + threads.y - 1) / threads.y,
                    static_cast<unsigned>((planes + PLANES - 1) / PLANES));
    resize<V><<<grid, threads, 0, stream>>>(x, y, planes, height, width, out_height, out_width,
                                            float(double(height) / out_height), float(double(width) / out_width));
}

}  // namespace

extern "C" void bilinear_resize(const T* x, int64_t, int64_t, T* y, int64_t batch, int64_t channels, int64_t height,
                                int64_t width, int64_t out_height, int64_t out_width, cudaStream_t stream) {
    // Lanes store four bytes: two results in half precision, where they are aligned.
    constexpr int V = 4 / sizeof(T);
    const bool packs = out_width % V == 0 && reinterpret_cast<uintptr_t>(y) % 4 == 0;
    (packs ? launch<V> : launch<1>)(x, y, batch * channels, int(height), int(width), int(out_height), int(out_width),
                                    stream);
}
