// An index of sixteen bits: it turns negative at 32768.
#include <cstdint>

__global__ void negate(const float* x, float* y, int n) {
#ifdef BUG
    const short i = blockIdx.x * blockDim.x + threadIdx.x;
#else
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#endif
    if (i < n) {
        const float value = x[i];  // finding: out_of_bounds_global
        y[i] = -value;             // finding: out_of_bounds_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    negate<<<(n + 1023) / 1024, 1024, 0, stream>>>(x, y, n);
}
