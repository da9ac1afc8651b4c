// Repeated smoothing in shared memory: a thread stores its mean while a neighbour has yet to read the old value.
#include <cstdint>

__global__ void smooth(const float* x, float* y, int n, int repeats) {
    extern __shared__ float cells[];
    const int i = threadIdx.x;
    cells[i] = x[i];
    __syncthreads();
    for (int repeat = 0; repeat < repeats; ++repeat) {
        float mean = cells[i];
        if (i > 0 && i < n - 1) {
            mean = (cells[i - 1] + cells[i] + cells[i + 1]) / 3.0f;  // finding: race_shared
        }
#ifndef BUG
        __syncthreads();
#endif
        cells[i] = mean;  // finding: race_shared
        __syncthreads();
    }
    y[i] = cells[i];
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    smooth<<<1, n, n * sizeof(float), stream>>>(x, y, n, 3);
}
