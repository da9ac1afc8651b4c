// Each block reverses its piece through static shared memory.
#include <cstdint>

#define BLOCK 100

__global__ void reverse_blocks(const int* in, int* out, int n) {
    __shared__ int s[BLOCK];
    int base = blockIdx.x * BLOCK;
    int count = min(BLOCK, n - base);
    int t = threadIdx.x;
    if (t < count) s[t] = in[base + t];
    __syncthreads();
    if (t < count) out[base + t] = s[count - 1 - t];
}

extern "C" void run(const int* in, int* out, int64_t n, cudaStream_t stream) {
    reverse_blocks<<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(in, out, (int)n);
}
