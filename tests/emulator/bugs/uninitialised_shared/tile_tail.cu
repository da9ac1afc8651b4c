// The part of a tile beyond a small matrix is not filled with zeros, yet takes part in the product: 0 * NaN is NaN.
#include <cstdint>

constexpr int kTile = 16;

__global__ void matvec(const float* a, const float* x, float* y, int size) {
    __shared__ float part[kTile];
    const int row = blockIdx.x * kTile + threadIdx.x;
    float sum = 0.0f;
    for (int start = 0; start < size; start += kTile) {
        const int k = start + threadIdx.x;
#ifdef BUG
        if (k < size) {
            part[threadIdx.x] = x[k];
        }
#else
        part[threadIdx.x] = k < size ? x[k] : 0.0f;
#endif
        __syncthreads();
        for (int j = 0; j < kTile; ++j) {
            const float coefficient = row < size && start + j < size ? a[row * size + start + j] : 0.0f;
            sum += coefficient * part[j];  // finding: uninitialised_shared
        }
        __syncthreads();
    }
    if (row < size) {
        y[row] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    matvec<<<(n + kTile - 1) / kTile, kTile, 0, stream>>>(x, x + n * n, y, n);
}
