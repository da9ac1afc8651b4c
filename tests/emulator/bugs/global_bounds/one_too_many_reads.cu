// Differences of neighbours: the last thread reads the element after the last one.
#include <cstdint>

__global__ void differences(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
    if (i < n) {
#else
    if (i < n - 1) {
#endif
        const float next = x[i + 1];  // finding: out_of_bounds_global
        y[i] = next - x[i];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    differences<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n);
}
