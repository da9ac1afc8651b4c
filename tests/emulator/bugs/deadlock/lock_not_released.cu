// A path leaves the critical section without releasing the lock.
#include <cstdint>

__device__ int lock = 0;

__global__ void largest_under_limit(const float* x, float* y, float limit) {
    const float value = x[blockIdx.x];
    while (atomicCAS(&lock, 0, 1) != 0) {  // finding: deadlock
    }
    __threadfence();
#ifdef BUG
    if (value > limit) {
        return;
    }
    y[0] = fmaxf(y[0], value);
#else
    if (value <= limit) {
        y[0] = fmaxf(y[0], value);
    }
#endif
    __threadfence();
    atomicExch(&lock, 0);
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, sizeof(float), stream);
    largest_under_limit<<<n, 1, 0, stream>>>(x, y, 0.5f);
}
