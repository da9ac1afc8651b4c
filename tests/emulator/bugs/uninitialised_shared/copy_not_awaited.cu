// A wait that leaves the latest group of asynchronous copies under way, where that group is the only one.
#include <cuda_pipeline.h>

#include <cstdint>

__global__ void reverse(const float* x, float* y) {
    __shared__ __align__(16) float tile[64];
    __pipeline_memcpy_async(&tile[threadIdx.x], &x[threadIdx.x], sizeof(float));
    __pipeline_commit();
#ifdef BUG
    __pipeline_wait_prior(1);
#else
    __pipeline_wait_prior(0);
#endif
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];  // finding: uninitialised_shared
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    reverse<<<1, 64, 0, stream>>>(x, y);
}
