// Softmax over few classes with a mask of as many lanes, called by the whole warp.
#include <cstdint>

__global__ void softmax(const float* x, float* y, int classes) {
    const int lane = threadIdx.x;
    const unsigned mask = (1u << classes) - 1u;
#ifndef BUG
    if (lane >= classes) {
        return;
    }
#endif
    const float value = lane < classes ? x[blockIdx.x * classes + lane] : -INFINITY;
    float largest = value;
    for (int other = 0; other < classes; ++other) {
        largest = fmaxf(largest, __shfl_sync(mask, value, other));  // finding: warp_mask
    }
    float sum = 0.0f;
    for (int other = 0; other < classes; ++other) {
        sum += expf(__shfl_sync(mask, value, other) - largest);  // finding: warp_mask
    }
    if (lane < classes) {
        y[blockIdx.x * classes + lane] = expf(value - largest) / sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    softmax<<<3, 32, 0, stream>>>(x, y, n);
}
