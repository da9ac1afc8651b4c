// Tiles overlap by their halos, and every thread writes its output: two blocks write the cells of a halo.
#include <cstdint>

constexpr int kThreads = 34;
constexpr int kInner = kThreads - 2;

__global__ void smooth(const float* x, float* y, int n) {
    __shared__ float tile[kThreads];
    const int thread = threadIdx.x;
    const int i = blockIdx.x * kInner + thread - 1;
    tile[thread] = i >= 0 && i < n ? x[i] : 0.0f;
    __syncthreads();
    const float left = thread > 0 ? tile[thread - 1] : 0.0f;
    const float right = thread < kThreads - 1 ? tile[thread + 1] : 0.0f;
#ifdef BUG
    const bool mine = i >= 0 && i < n;
#else
    const bool mine = thread > 0 && thread <= kInner && i < n;
#endif
    if (mine) {
        y[i] = 0.25f * left + 0.5f * tile[thread] + 0.25f * right;  // finding: race_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    smooth<<<(n + kInner - 1) / kInner, kThreads, 0, stream>>>(x, y, n);
}
