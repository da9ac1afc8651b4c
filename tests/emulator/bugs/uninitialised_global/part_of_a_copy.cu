// A kernel that works in place on a copy whose size is given in elements where bytes are meant.
#include <cstdint>

__global__ void halve(float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] *= 0.5f;  // finding: uninitialised_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    cudaMemcpyAsync(y, x, n, cudaMemcpyDeviceToDevice, stream);
#else
    cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
#endif
    halve<<<(n + 63) / 64, 64, 0, stream>>>(y, n);
}
