// Producers and consumers meet at two different barriers, one in each branch.
#include <cstdint>

__global__ void halves(const float* x, float* y) {
    __shared__ float values[32];
    const int thread = threadIdx.x;
#ifdef BUG
    if (thread < 32) {
        values[thread] = 2.0f * x[thread];
        __syncthreads();  // finding: divergent_barrier
    } else {
        __syncthreads();  // finding: divergent_barrier
        y[thread - 32] = values[63 - thread];
    }
#else
    if (thread < 32) {
        values[thread] = 2.0f * x[thread];
    }
    __syncthreads();
    if (thread >= 32) {
        y[thread - 32] = values[63 - thread];
    }
#endif
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    halves<<<1, 64, 0, stream>>>(x, y);
}
