// The last warp of a reduction on volatile shared memory, ordered by __syncwarp as Volta and later ask for.
#include <cstdint>

template <unsigned int blockSize>
__device__ void warpReduce(volatile int* sdata, unsigned int tid) {
    int v = sdata[tid];
#pragma unroll
    for (int offset = 32; offset > 0; offset /= 2) {
        if (tid + offset < 64) v += sdata[tid + offset];
        __syncwarp();
        sdata[tid] = v;
        __syncwarp();
    }
}

template <unsigned int blockSize>
__global__ void reduce(const int* g_idata, int* g_odata, unsigned int n) {
    __shared__ volatile int sdata[blockSize];
    unsigned int tid = threadIdx.x;
    unsigned int i = blockIdx.x * (blockSize * 2) + tid;
    int mine = i < n ? g_idata[i] : 0;
    if (i + blockSize < n) mine += g_idata[i + blockSize];
    sdata[tid] = mine;
    __syncthreads();
    if (blockSize >= 128) {
        if (tid < 64) sdata[tid] = sdata[tid] + sdata[tid + 64];
        __syncthreads();
    }
    if (tid < 32) warpReduce<blockSize>(sdata, tid);
    if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}

extern "C" void run(const int* in, int* out, int64_t n, cudaStream_t stream) {
    reduce<128><<<(n + 255) / 256, 128, 0, stream>>>(in, out, static_cast<unsigned>(n));
}
