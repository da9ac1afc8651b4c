// Lanes beyond the input return; the others add what these lanes would have held.
#include <cstdint>

__global__ void warp_sums(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
    if (i >= n) {
        return;
    }
    float sum = x[i];
#else
    float sum = i < n ? x[i] : 0.0f;
#endif
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);  // finding: inactive_lane
    }
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    warp_sums<<<(n + 31) / 32, 32, 0, stream>>>(x, y, n);
}
