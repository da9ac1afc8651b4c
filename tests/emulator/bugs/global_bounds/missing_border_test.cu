// 3x3 mean whose test of the image's border forgets the right and lower edges: at the corner it leaves the image.
#include <cstdint>

template <typename T>
__device__ T pixel_or_zero(const T* image, int row, int column, int size) {
#ifdef BUG
    const bool inside = row >= 0 && column >= 0;
#else
    const bool inside = row >= 0 && column >= 0 && row < size && column < size;
#endif
    return inside ? image[row * size + column] : T(0);  // finding: out_of_bounds_global
}

__global__ void mean3x3(const float* x, float* y, int size) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= size || column >= size) {
        return;
    }
    float sum = 0.0f;
    for (int i = -1; i <= 1; ++i) {
        for (int j = -1; j <= 1; ++j) {
            sum += pixel_or_zero(x, row + i, column + j, size);
        }
    }
    y[row * size + column] = sum / 9.0f;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int tiles = (n + 7) / 8;
    mean3x3<<<dim3(tiles, tiles), dim3(8, 8), 0, stream>>>(x, y, n);
}
