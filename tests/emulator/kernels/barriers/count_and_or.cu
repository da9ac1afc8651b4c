// The three voting barriers: how many elements of a row are positive, whether all are, whether any is.
#include <cstdint>

__global__ void vote_rows(const float* x, int* out, int cols) {
    const bool inside = threadIdx.x < cols;
    const float value = inside ? x[blockIdx.x * cols + threadIdx.x] : 0.0f;
    const int count = __syncthreads_count(inside && value > 0.0f);
    const int all = __syncthreads_and(!inside || value > 0.0f);
    const int any = __syncthreads_or(inside && value > 0.0f);
    if (threadIdx.x == 0) {
        out[3 * blockIdx.x] = count;
        out[3 * blockIdx.x + 1] = all != 0;
        out[3 * blockIdx.x + 2] = any != 0;
    }
}

extern "C" void run(const float* x, int* out, int64_t rows, int64_t cols, cudaStream_t stream) {
    vote_rows<<<rows, 80, 0, stream>>>(x, out, cols);
}
