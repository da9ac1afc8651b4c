// Whole warps leave early; the barrier then only waits for the threads that are still there.
#include <cstdint>

__global__ void neighbours(const int* in, int* out, int cols) {
    __shared__ int row[96];
    const int t = threadIdx.x;
    if (t / 32 > (cols - 1) / 32) return;
    row[t] = t < cols ? in[blockIdx.x * cols + t] : 0;
    __syncthreads();
    if (t < cols) out[blockIdx.x * cols + t] = row[t] - row[(t + 1) % cols];
}

extern "C" void run(const int* in, int* out, int64_t rows, int64_t cols, cudaStream_t stream) {
    neighbours<<<rows, 96, 0, stream>>>(in, out, cols);
}
