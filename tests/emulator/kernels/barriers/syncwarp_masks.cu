// The two halves of a warp take different branches and synchronise on their own masks.
#include <cstdint>

__global__ void halves(const int* in, int* out) {
    __shared__ int values[32];
    const unsigned lane = threadIdx.x;
    values[lane] = in[blockIdx.x * 32 + lane];
    if (lane < 16) {
        __syncwarp(0x0000ffffu);
        const int neighbour = values[(lane + 1) % 16];
        __syncwarp(0x0000ffffu);
        values[lane] += neighbour;
    } else {
        __syncwarp(0xffff0000u);
        const int mirrored = values[47 - lane];
        __syncwarp(0xffff0000u);
        values[lane] *= mirrored;
    }
    __syncwarp();
    out[blockIdx.x * 32 + lane] = values[31 - lane];
}

extern "C" void run(const int* in, int* out, int64_t rows, cudaStream_t stream) {
    halves<<<rows, 32, 0, stream>>>(in, out);
}
