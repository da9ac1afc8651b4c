// Transpose of a matrix that is not square, stored with the input's stride.
#include <cstdint>

__global__ void transpose(const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows && column < columns) {
#ifdef BUG
        y[column * columns + row] = x[row * columns + column];  // finding: out_of_bounds_global
#else
        y[column * rows + row] = x[row * columns + column];
#endif
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int rows = 5;
    transpose<<<dim3((n + 15) / 16, 1), dim3(16, 8), 0, stream>>>(x, y, rows, n);
}
