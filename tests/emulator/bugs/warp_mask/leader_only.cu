// A broadcast from the first lane whose mask names that lane alone.
#include <cstdint>

__global__ void subtract_first(const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float value = x[i];
#ifdef BUG
    const float first = __shfl_sync(1u, value, 0);  // finding: warp_mask
#else
    const float first = __shfl_sync(0xffffffffu, value, 0);
#endif
    y[i] = value - first;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    subtract_first<<<n / 64, 64, 0, stream>>>(x, y);
}
