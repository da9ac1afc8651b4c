// Every block loads the halos of its tile; that of the last block lies beyond the input.
#include <cstdint>

constexpr int kThreads = 64;
constexpr int kRadius = 2;

__global__ void box_filter(const float* x, float* y, int n) {
    __shared__ float tile[kThreads + 2 * kRadius];
    const int i = blockIdx.x * kThreads + threadIdx.x;
    const int cell = threadIdx.x + kRadius;
    tile[cell] = i < n ? x[i] : 0.0f;
    if (threadIdx.x < kRadius) {
        tile[cell - kRadius] = i >= kRadius ? x[i - kRadius] : 0.0f;
#ifdef BUG
        tile[cell + kThreads] = x[i + kThreads];  // finding: out_of_bounds_global
#else
        tile[cell + kThreads] = i + kThreads < n ? x[i + kThreads] : 0.0f;
#endif
    }
    __syncthreads();
    if (i < n) {
        float sum = 0.0f;
        for (int offset = -kRadius; offset <= kRadius; ++offset) {
            sum += tile[cell + offset];
        }
        y[i] = sum / (2 * kRadius + 1);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    box_filter<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(x, y, n);
}
