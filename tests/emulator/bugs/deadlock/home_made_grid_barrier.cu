// Blocks that are all resident count each other, and wait for one more than there are.
#include <cstdint>

__global__ void mirror(const float* x, float* y, unsigned* arrived, int n) {
    const int i = threadIdx.x;
    if (blockIdx.x == 0 && i < n) {
        y[n + i] = 2.0f * x[i];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        if (blockIdx.x == 1) {
#ifdef BUG
            while (atomicAdd(arrived, 0u) <= gridDim.x) {  // finding: deadlock
#else
            while (atomicAdd(arrived, 0u) < gridDim.x) {
#endif
            }
            __threadfence();
        }
    }
    __syncthreads();
    if (blockIdx.x == 1 && i < n) {
        y[i] = y[n + n - 1 - i];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    unsigned* arrived = nullptr;
    cudaMalloc(&arrived, sizeof(unsigned));
    cudaMemset(arrived, 0, sizeof(unsigned));
    int count = static_cast<int>(n);
    void* arguments[] = {&x, &y, &arrived, &count};
    cudaLaunchCooperativeKernel((const void*)mirror, dim3(2), dim3(32), arguments, 0, stream);
    cudaFree(arrived);
}
