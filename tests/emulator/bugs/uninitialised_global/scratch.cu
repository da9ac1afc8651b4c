// The second kernel adds up more partial sums than the first one has stored.
#include <cstdint>

__global__ void partial_sums(const float* x, float* partial, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = i < n ? x[i] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
    }
}

__global__ void total(const float* partial, float* y, int count) {
    float sum = 0.0f;
    for (int i = 0; i < count; ++i) {
        sum += partial[i];  // finding: uninitialised_global
    }
    y[0] = sum;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    float* partial = nullptr;
    const int room = 256;
    const int blocks = (n + 31) / 32;
    cudaMalloc(&partial, room * sizeof(float));
    partial_sums<<<blocks, 32, 0, stream>>>(x, partial, n);
#ifdef BUG
    total<<<1, 1, 0, stream>>>(partial, y, room);
#else
    total<<<1, 1, 0, stream>>>(partial, y, blocks);
#endif
    cudaFree(partial);
}
