// Dynamic scheduling: blocks draw row numbers from a counter until none is left.
#include <cstdint>

__device__ unsigned int next_row;

__global__ void start() { next_row = 0; }

__global__ void row_norms(const float* x, float* norms, int rows, int cols) {
    __shared__ unsigned int row;
    __shared__ float partial[32];
    while (true) {
        if (threadIdx.x == 0) row = atomicAdd(&next_row, 1u);
        __syncthreads();
        const unsigned int mine = row;
        if (mine >= rows) return;
        float sum = 0.0f;
        for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += fabsf(x[mine * cols + c]);
        partial[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int t = 1; t < 32; ++t) sum += partial[t];
            norms[mine] = sum;
        }
    }
}

extern "C" void run(const float* x, float* norms, int64_t rows, int64_t cols, cudaStream_t stream) {
    start<<<1, 1, 0, stream>>>();
    row_norms<<<3, 32, 0, stream>>>(x, norms, rows, cols);
}
