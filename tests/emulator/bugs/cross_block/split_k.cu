// Matrix product whose blocks along z each take a part of K and add to the same output without an atomic.
#include <cstdint>

__global__ void matmul(const float* a, const float* b, float* c, int size, int part) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int first = blockIdx.z * part;
    if (row >= size || column >= size) {
        return;
    }
    float sum = 0.0f;
    for (int k = first; k < min(first + part, size); ++k) {
        sum += a[row * size + k] * b[k * size + column];
    }
#ifdef BUG
    c[row * size + column] += sum;  // finding: race_global
#else
    atomicAdd(&c[row * size + column], sum);
#endif
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int tiles = (n + 7) / 8;
    cudaMemsetAsync(y, 0, n * n * sizeof(float), stream);
    matmul<<<dim3(tiles, tiles, 2), dim3(8, 8), 0, stream>>>(x, x + n * n, y, n, (n + 1) / 2);
}
