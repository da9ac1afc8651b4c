// Row sums with the stride of a padded matrix on a dense one: the last rows lie beyond the end.
#include <cstdint>

__global__ void row_sums(const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef BUG
    const int stride = (columns + 3) / 4 * 4;
#else
    const int stride = columns;
#endif
    if (row < rows) {
        float sum = 0.0f;
        for (int column = 0; column < columns; ++column) {
            sum += x[row * stride + column];  // finding: out_of_bounds_global
        }
        y[row] = sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    row_sums<<<1, 64, 0, stream>>>(x, y, 40, n);
}
