// A hash kept in a signed integer: the remainder of a negative number is negative.
#include <cstdint>

__global__ void count_buckets(const float* x, float* y, int n, int buckets) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
#ifdef BUG
        const int hash = __float_as_uint(x[i]) * 2654435761u;
#else
        const unsigned hash = __float_as_uint(x[i]) * 2654435761u;
#endif
        const int bucket = hash % buckets;
        atomicAdd(&y[bucket], 1.0f);  // finding: out_of_bounds_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, 16 * sizeof(float), stream);
    count_buckets<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n, 16);
}
