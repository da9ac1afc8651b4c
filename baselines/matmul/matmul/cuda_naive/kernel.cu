// Matrix product by definition (Golub and Van Loan 2013, section 1.1): a thread for each output, a float32 sum over its
// row of a and its column of b. Neighbouring threads have neighbouring columns, so that what a warp reads of b, and
// writes, lies together; nothing is kept for another thread but by the caches.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int COLS = 32, ROWS = 8;  // outputs of a block

__global__ void __launch_bounds__(COLS * ROWS)
    multiply(const T* __restrict__ a, const T* __restrict__ b, T* __restrict__ c, int64_t m, int64_t n, int64_t k) {
    const int64_t across = (n + COLS - 1) / COLS;
    const int64_t row = blockIdx.x / across * ROWS + threadIdx.y, col = blockIdx.x % across * COLS + threadIdx.x;
    if (row >= m || col >= n) return;
    float sum = 0.0f;
    for (int64_t term = 0; term < k; ++term) sum += float(a[row * k + term]) * float(b[term * n + col]);
    c[row * n + col] = T(sum);
}

}  // namespace

extern "C" void matmul(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((m + ROWS - 1) / ROWS * ((n + COLS - 1) / COLS));
    multiply<<<blocks, dim3(COLS, ROWS), 0, stream>>>(a, b, c, m, n, k);
}
