// Product of a matrix and a vector, bound by reading the matrix once. A group of lanes, as many as a row can use, works
// on a row: 1 to 32 lanes of a warp, or a whole block where rows are long. Four loads are in flight at a time.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, UNROLL = 4;

// V neighbouring elements, moved in one transaction.
template <int V>
struct alignas(V * sizeof(T)) Pack {
    T at[V];
};

// What a lane adds to the dot product of a row; its vectors are `lanes` apart.
template <int V>
__device__ float dot(const T* row, const T* x, int64_t k, int lane, int lanes) {
    const auto* left = reinterpret_cast<const Pack<V>*>(row);
    const auto* right = reinterpret_cast<const Pack<V>*>(x);
    const int64_t vectors = k / V;
    float total[UNROLL] = {};
    int64_t v = lane;
    for (; v + (UNROLL - 1) * lanes < vectors; v += UNROLL * lanes) {
        Pack<V> p[UNROLL], q[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; ++u) {
            p[u] = left[v + u * lanes];
            q[u] = right[v + u * lanes];
        }
#pragma unroll
        for (int u = 0; u < UNROLL; ++u)
#pragma unroll
            for (int e = 0; e < V; ++e) total[u] += float(p[u].at[e]) * float(q[u].at[e]);
    }
    for (; v < vectors; v += lanes) {
        const Pack<V> p = left[v], q = right[v];
#pragma unroll
        for (int e = 0; e < V; ++e) total[0] += float(p.at[e]) * float(q.at[e]);
    }
    return (total[0] + total[1]) + (total[2] + total[3]);
}

// The sum over groups of `lanes` neighbours, a power of two up to 32.
__device__ float group_sum(float value, int lanes) {
    for (int offset = lanes / 2; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

template <int V>
__global__ void __launch_bounds__(THREADS)
    multiply_by_warps(const T* __restrict__ a, const T* __restrict__ x, T* __restrict__ y, int64_t m, int64_t k,
                      int lanes) {
    const int64_t row = (int64_t(blockIdx.x) * THREADS + threadIdx.x) / lanes;
    const int lane = threadIdx.x % lanes;
    // Groups past the end stay for the shuffles.
    const float total = group_sum(row < m ? dot<V>(a + row * k, x, k, lane, lanes) : 0.0f, lanes);
    if (row < m && lane == 0) y[row] = T(total);
}

template <int V>
__global__ void __launch_bounds__(THREADS)
    multiply_by_blocks(const T* __restrict__ a, const T* __restrict__ x, T* __restrict__ y, int64_t k) {
    __shared__ float partial[THREADS / 32];
    float total = group_sum(dot<V>(a + blockIdx.x * k, x, k, threadIdx.x, THREADS), 32);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = total;
    __syncthreads();
    if (threadIdx.x > 0) return;
    for (int warp = 1; warp < THREADS / 32; ++warp) total += partial[warp];
    y[blockIdx.x] = T(total);
}

template <int V>
void launch(const T* a, const T* x, T* y, int64_t m, int64_t k, cudaStream_t stream) {
    if (k / V > 32 * 4 * UNROLL) {
        multiply_by_blocks<V><<<static_cast<unsigned>(m), THREADS, 0, stream>>>(a, x, y, k);
        return;
    }
    int lanes = 1;
    while (lanes < 32 && lanes < k / V) lanes *= 2;
    const auto blocks = static_cast<unsigned>((m * lanes + THREADS - 1) / THREADS);
    multiply_by_warps<V><<<blocks, THREADS, 0, stream>>>(a, x, y, m, k, lanes);
}

bool aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

extern "C" void matrix_vector(const T* a, const T* x, T* y, int64_t m, int64_t k, cudaStream_t stream) {
    constexpr int V = 16 / sizeof(T);
    (k % V == 0 && aligned(a) && aligned(x) ? launch<V> : launch<1>)(a, x, y, m, k, stream);
}
