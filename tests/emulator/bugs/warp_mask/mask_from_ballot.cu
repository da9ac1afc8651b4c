// A mask of the lanes with input, taken by a vote, and then used by all lanes.
#include <cstdint>

__global__ void total(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    const unsigned mask = __ballot_sync(0xffffffffu, i < n);
    const float value = i < n ? x[i] : 0.0f;
    float sum = 0.0f;
#ifndef BUG
    if (i < n)
#endif
        for (int other = 0; other < n; ++other) {
            sum += __shfl_sync(mask, value, other);  // finding: warp_mask
        }
    if (i == 0) {
        y[0] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    total<<<1, 32, 0, stream>>>(x, y, n);
}
