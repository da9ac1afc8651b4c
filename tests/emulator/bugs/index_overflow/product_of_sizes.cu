// The offset of a batch as a product of integers that does not fit into one: it turns negative.
#include <cstdint>

__global__ void first_of_batches(const float* x, float* y, int batches, int stride, int period) {
    const int batch = threadIdx.x;
    if (batch < batches) {
#ifdef BUG
        const int offset = batch * stride;
#else
        const int64_t offset = static_cast<int64_t>(batch) * stride;
#endif
        y[batch] = x[offset % period];  // finding: out_of_bounds_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    first_of_batches<<<1, 32, 0, stream>>>(x, y, 20, 150000001, n);
}
