// The launch asks for as many bytes of dynamic shared memory as the kernel uses elements.
#include <cstdint>

__global__ void reverse(const float* x, float* y) {
    extern __shared__ float values[];
    values[threadIdx.x] = x[threadIdx.x];  // finding: out_of_bounds_shared
    __syncthreads();
    y[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x];  // finding: out_of_bounds_shared
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    reverse<<<1, n, n, stream>>>(x, y);
#else
    reverse<<<1, n, n * sizeof(float), stream>>>(x, y);
#endif
}
