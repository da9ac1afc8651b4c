// A reduction by shuffles inside a loop that some lanes leave one step earlier.
#include <cstdint>

__global__ void chunk_sums(const float* x, float* y, int n) {
    __shared__ float sums[64];
    const int lane = threadIdx.x;
#ifdef BUG
    for (int i = lane; i < n; i += 32) {
        float sum = x[i];
#else
    for (int i = lane; i - lane < n; i += 32) {
        float sum = i < n ? x[i] : 0.0f;
#endif
        for (int offset = 16; offset > 0; offset /= 2) {
            sum += __shfl_down_sync(0xffffffffu, sum, offset);  // finding: warp_divergence
        }
        if (lane == 0) {
            sums[i / 32] = sum;
        }
    }
    __syncthreads();
    if (lane < (n + 31) / 32) {
        y[lane] = sums[lane];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    chunk_sums<<<1, 32, 0, stream>>>(x, y, n);
}
