// A loop unrolled by four whose guard tests the first of four reads only.
#include <cstdint>

__global__ void total(const float* x, float* y, int n) {
    float sum = 0.0f;
    int i = threadIdx.x;
#ifdef BUG
    for (; i < n; i += 4 * blockDim.x) {
#else
    for (; i + 3 * blockDim.x < n; i += 4 * blockDim.x) {
#endif
        const float first = x[i] + x[i + blockDim.x];                       // finding: out_of_bounds_global
        const float second = x[i + 2 * blockDim.x] + x[i + 3 * blockDim.x];  // finding: out_of_bounds_global
        sum += first + second;
    }
    for (; i < n; i += blockDim.x) {
        sum += x[i];
    }
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x == 0) {
        y[0] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    total<<<1, 32, 0, stream>>>(x, y, n);
}
