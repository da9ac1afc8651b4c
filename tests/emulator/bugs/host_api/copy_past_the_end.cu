// A copy of one row too many.
#include <cstdint>

__global__ void negate(float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = -y[i];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int columns = 16;
#ifdef BUG
    const size_t bytes = (n / columns + 1) * columns * sizeof(float);
#else
    const size_t bytes = (n / columns) * columns * sizeof(float);
#endif
    cudaMemcpyAsync(y, x, bytes, cudaMemcpyDeviceToDevice, stream);  // finding: out_of_bounds_global
    negate<<<(n + 63) / 64, 64, 0, stream>>>(y, n);
}
