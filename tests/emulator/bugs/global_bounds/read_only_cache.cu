// __ldg of a pair of which the second element may not exist.
#include <cstdint>

__global__ void pair_sums(const float* __restrict__ x, float* __restrict__ y, int n) {
    const int pair = blockIdx.x * blockDim.x + threadIdx.x;
    if (2 * pair < n) {
        float sum = __ldg(x + 2 * pair);
#ifndef BUG
        if (2 * pair + 1 < n)
#endif
            sum += __ldg(&x[2 * pair + 1]);  // finding: out_of_bounds_global
        y[pair] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    pair_sums<<<1, 64, 0, stream>>>(x, y, n);
}
