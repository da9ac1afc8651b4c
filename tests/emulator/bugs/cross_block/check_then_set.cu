// Largest magnitude: blocks compare with the output and then store, and another block may store in between.
#include <cstdint>

__global__ void largest_magnitude(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float largest = i < n ? fabsf(x[i]) : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) {
        largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    }
    if (threadIdx.x == 0) {
#ifdef BUG
        if (largest > y[0]) {  // finding: race_global
            y[0] = largest;    // finding: race_global
        }
#else
        atomicMax(reinterpret_cast<int*>(y), __float_as_int(largest));
#endif
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(y, 0, sizeof(float), stream);
    largest_magnitude<<<(n + 31) / 32, 32, 0, stream>>>(x, y, n);
}
