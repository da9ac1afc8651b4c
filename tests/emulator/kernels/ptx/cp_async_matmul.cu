// C = A B with tiles that cp.async brings into two shared buffers while the other one is in use.
#include <cstdint>

constexpr int TILE = 16;

__device__ __forceinline__ void cp_async16(void* smem, const void* gmem) {
    uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(smem));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(address), "l"(gmem) : "memory");
}

__device__ __forceinline__ void cp_async_commit() { asm volatile("cp.async.commit_group;\n" ::: "memory"); }

template <int N>
__device__ __forceinline__ void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(N) : "memory");
}

__global__ void matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n, int k) {
    __shared__ __align__(16) float tile_a[2][TILE][TILE];
    __shared__ __align__(16) float tile_b[2][TILE][TILE];
    const int t = threadIdx.x;  // 64 threads, four elements each
    const int row = t / 4;
    const int col = t % 4 * 4;
    const float* from_a = a + (blockIdx.y * TILE + row) * k + col;
    const float* from_b = b + row * n + blockIdx.x * TILE + col;

    auto prefetch = [&](int stage, int step) {
        cp_async16(&tile_a[stage][row][col], from_a + step);
        cp_async16(&tile_b[stage][row][col], from_b + step * n);
        cp_async_commit();
    };

    float sum[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    prefetch(0, 0);
    const int steps = k / TILE;
    for (int s = 0; s < steps; ++s) {
        if (s + 1 < steps) {
            prefetch((s + 1) % 2, (s + 1) * TILE);
            cp_async_wait<1>();
        } else {
            cp_async_wait<0>();
        }
        __syncthreads();
        for (int e = 0; e < TILE; ++e) {
            for (int j = 0; j < 4; ++j) sum[j] += tile_a[s % 2][row][e] * tile_b[s % 2][e][col + j];
        }
        __syncthreads();
    }
    float* to = c + (blockIdx.y * TILE + row) * n + blockIdx.x * TILE + col;
    *reinterpret_cast<float4*>(to) = make_float4(sum[0], sum[1], sum[2], sum[3]);
}

extern "C" void run(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t stream) {
    matmul<<<dim3(n / TILE, m / TILE), 64, 0, stream>>>(a, b, c, n, k);
}
