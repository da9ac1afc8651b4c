// A barrier inside the guard of the last block: the threads beyond the input wait at another barrier.
#include <cstdint>

__global__ void add_neighbour(const float* x, float* y, int n) {
    __shared__ float values[64];
    __shared__ float first;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
    if (i < n) {
        values[threadIdx.x] = x[i];
        __syncthreads();  // finding: divergent_barrier
    }
#else
    if (i < n) {
        values[threadIdx.x] = x[i];
    }
    __syncthreads();
#endif
    if (threadIdx.x == 0) {
        first = values[0];
    }
    __syncthreads();  // finding: divergent_barrier
    if (i < n) {
        y[i] = values[threadIdx.x] + first;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    add_neighbour<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
