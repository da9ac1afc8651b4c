// Vectors are stored in shared memory and read by other threads as scalars, without a barrier.
#include <cstdint>

__global__ void reverse(const float4* x, float* y) {
    __shared__ __align__(16) float values[256];
    reinterpret_cast<float4*>(values)[threadIdx.x] = x[threadIdx.x];  // finding: race_shared
#ifndef BUG
    __syncthreads();
#endif
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        y[i] = values[255 - i];  // finding: race_shared
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    reverse<<<1, 64, 0, stream>>>(reinterpret_cast<const float4*>(x), y);
}
