// Points in the unit square from a small generator of our own; hits are counted per block, then overall.
#include <cstdint>

struct Xorshift {
    uint32_t state;
    __device__ uint32_t next() {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        return state;
    }
    __device__ float uniform() { return (next() >> 8) * (1.0f / 16777216.0f); }
};

__global__ void throw_darts(unsigned long long* hits, uint32_t seed, int darts) {
    __shared__ unsigned int block_hits;
    if (threadIdx.x == 0) block_hits = 0;
    __syncthreads();
    Xorshift random{seed + 2654435761u * (blockIdx.x * blockDim.x + threadIdx.x + 1)};
    unsigned int mine = 0;
    for (int d = 0; d < darts; ++d) {
        const double x = random.uniform(), y = random.uniform();
        if (x * x + y * y < 1.0) ++mine;
    }
    atomicAdd(&block_hits, mine);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(hits, static_cast<unsigned long long>(block_hits));
}

extern "C" void run(int64_t* hits, int64_t seed, int64_t blocks, int64_t darts, cudaStream_t stream) {
    cudaMemsetAsync(hits, 0, sizeof(int64_t), stream);
    throw_darts<<<blocks, 64, 0, stream>>>(reinterpret_cast<unsigned long long*>(hits), seed, darts);
}
