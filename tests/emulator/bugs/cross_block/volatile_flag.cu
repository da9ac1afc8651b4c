// One warp hands a value to another through global memory; the flag may become visible before the value.
#include <cstdint>

__global__ void hand_over(const float* x, float* value, volatile int* flag, float* y) {
    if (threadIdx.x == 0) {
        *value = 3.0f * x[0];  // finding: race_global
#ifndef BUG
        __threadfence();
#endif
        *flag = 1;
    }
    if (threadIdx.x == 32) {
        while (*flag == 0) {
        }
        __threadfence();
        y[0] = *value;  // finding: race_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    int* flag = nullptr;
    cudaMalloc(&flag, sizeof(int));
    cudaMemsetAsync(flag, 0, sizeof(int), stream);
    hand_over<<<1, 64, 0, stream>>>(x, y + 1, flag, y);
    cudaFreeAsync(flag, stream);
}
