// Every thread repeats until its own value is small, with a barrier in each step, and leaves the loop at its own time.
#include <cstdint>

__global__ void halve_until_small(const float* x, float* y) {
    __shared__ float values[64];
    const int thread = threadIdx.x;
    float value = fabsf(x[thread]);
    float steps = 0.0f;
#ifdef BUG
    while (value > 0.1f) {
#else
    while (__syncthreads_or(value > 0.1f)) {
#endif
        values[thread] = value;
        __syncthreads();  // finding: divergent_barrier
        if (value > 0.1f) {
            value = 0.5f * values[thread];
            steps += 1.0f;
        }
    }
    __syncthreads();  // finding: divergent_barrier
    y[thread] = steps;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    halve_until_small<<<1, 64, 0, stream>>>(x, y);
}
