// Ten lanes add by shuffles whose offset reaches lanes that the mask does not name.
#include <cstdint>

__global__ void sum_of_ten(const float* x, float* y) {
    const int lane = threadIdx.x;
    if (lane >= 10) {
        return;
    }
    const float value = x[blockIdx.x * 10 + lane];
    float sum = value;
    for (int step = 1; step < 10; ++step) {
#ifdef BUG
        sum += __shfl_sync(0x3ffu, value, lane + step);  // finding: inactive_lane
#else
        sum += __shfl_sync(0x3ffu, value, (lane + step) % 10);
#endif
    }
    if (lane == 0) {
        y[blockIdx.x] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    sum_of_ten<<<n / 10, 32, 0, stream>>>(x, y);
}
