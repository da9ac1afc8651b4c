// Transpose by definition (Golub and Van Loan 2013, section 1.1): a thread for each element. Neighbouring threads read
// neighbouring columns, so that what a warp reads lies together; what it writes lies a whole output row apart, and each
// of its elements costs a transaction of its own. Tiles in shared memory mend that (cuda_shared_tile).
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int COLS = 32, ROWS = 8;  // elements of a block

__global__ void __launch_bounds__(COLS * ROWS)
    transpose_elements(const T* __restrict__ x, T* __restrict__ y, int64_t rows, int64_t cols) {
    const int64_t across = (cols + COLS - 1) / COLS;
    const int64_t row = blockIdx.x / across * ROWS + threadIdx.y, col = blockIdx.x % across * COLS + threadIdx.x;
    if (row < rows && col < cols) y[col * rows + row] = x[row * cols + col];
}

}  // namespace

extern "C" void transpose(const T* x, T* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    if (rows == 0) return;  // a grid must not be empty
    const auto blocks = static_cast<unsigned>((rows + ROWS - 1) / ROWS * ((cols + COLS - 1) / COLS));
    transpose_elements<<<blocks, dim3(COLS, ROWS), 0, stream>>>(x, y, rows, cols);
}
