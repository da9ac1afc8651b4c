// Sums over each warp through shared memory: a tree of steps with __syncwarp between reads and writes.
#include <cstdint>

constexpr int WARPS = 3;

__global__ void warp_sums(const int* in, int* out, int n) {
    __shared__ int values[WARPS][32];
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int* mine = values[warp];

    mine[lane] = i < n ? in[i] : 0;
    __syncwarp();
    for (int offset = 16; offset > 0; offset >>= 1) {
        if (lane < offset) mine[lane] += mine[lane + offset];
        __syncwarp();
    }
    if (lane == 0) out[blockIdx.x * WARPS + warp] = mine[0];
}

extern "C" void run(const int* in, int* out, int64_t n, cudaStream_t stream) {
    const int threads = 32 * WARPS;
    warp_sums<<<(n + threads - 1) / threads, threads, 0, stream>>>(in, out, n);
}
