// A tile with room for one of its two halo cells.
#include <cstdint>

constexpr int kThreads = 64;

__global__ void neighbours(const float* x, float* y) {
#ifdef BUG
    __shared__ float tile[kThreads + 1];
#else
    __shared__ float tile[kThreads + 2];
#endif
    const int thread = threadIdx.x;
    tile[thread + 1] = x[thread];
    if (thread == 0) {
        tile[0] = 0.0f;
        tile[kThreads + 1] = 0.0f;  // finding: out_of_bounds_shared
    }
    __syncthreads();
    y[thread] = tile[thread] + tile[thread + 2];  // finding: out_of_bounds_shared
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    neighbours<<<1, kThreads, 0, stream>>>(x, y);
}
