// The first kernel leaves out the last element when their number is odd; the second one reads it.
#include <cstdint>

__global__ void rectify(const float* x, float* y, int n) {
    const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
#ifdef BUG
    if (i + 1 < n) {
        y[i] = fmaxf(x[i], 0.0f);
        y[i + 1] = fmaxf(x[i + 1], 0.0f);
    }
#else
    for (int j = i; j < min(i + 2, n); ++j) {
        y[j] = fmaxf(x[j], 0.0f);
    }
#endif
}

__global__ void add_one(float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] += 1.0f;  // finding: uninitialised_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    rectify<<<(n / 2 + 64) / 64, 64, 0, stream>>>(x, y, n);
    add_one<<<(n + 63) / 64, 64, 0, stream>>>(y, n);
}
