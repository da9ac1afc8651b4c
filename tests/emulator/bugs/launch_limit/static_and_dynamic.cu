// 32 KiB of static and 20 KiB of dynamic shared memory: the limit of 48 KiB holds for both together.
#include <cstdint>

__global__ void dot_rows(const float* x, float* y, int columns) {
    __shared__ float table[8 * 1024];  // finding: launch_limit
    extern __shared__ float row[];
    for (int i = threadIdx.x; i < 8 * 1024; i += blockDim.x) {
        table[i] = i % 7;
    }
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        row[column] = x[column];
    }
    __syncthreads();
    if (threadIdx.x < 8) {
        float sum = 0.0f;
        for (int column = 0; column < columns; ++column) {
            sum += row[column] * table[(threadIdx.x * columns + column) % (8 * 1024)];
        }
        y[threadIdx.x] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    const size_t bytes = 20 * 1024;
#else
    const size_t bytes = n * sizeof(float);
#endif
    dot_rows<<<1, 64, bytes, stream>>>(x, y, n);  // finding: launch_limit
}
