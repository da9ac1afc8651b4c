// A thread holds a lock while it waits for its warp, and the warp waits for the lock.
#include <cstdint>

__global__ void total(const float* x, float* y, int* lock) {
    const float value = x[threadIdx.x];
    bool waiting = true;
    while (waiting) {
        if (atomicCAS(lock, 0, 1) == 0) {  // finding: deadlock
            __threadfence();
            y[0] += value;
            __threadfence();
#ifdef BUG
            __syncwarp();  // finding: deadlock
#endif
            atomicExch(lock, 0);
            waiting = false;
        }
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    int* lock = nullptr;
    cudaMalloc(&lock, sizeof(int));
    cudaMemsetAsync(lock, 0, sizeof(int), stream);
    cudaMemsetAsync(y, 0, sizeof(float), stream);
    total<<<1, n, 0, stream>>>(x, y, lock);
    cudaFree(lock);
}
