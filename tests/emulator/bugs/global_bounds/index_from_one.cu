// A gather whose indices count from one, used as if they counted from zero.
#include <cstdint>

__global__ void gather(const float* indices, const float* values, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
#ifdef BUG
        y[i] = values[static_cast<int>(indices[i])];  // finding: out_of_bounds_global
#else
        y[i] = values[static_cast<int>(indices[i]) - 1];
#endif
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    gather<<<(n + 63) / 64, 64, 0, stream>>>(x, x + n, y, n);
}
