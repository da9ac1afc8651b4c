// Two phases in one launch: __syncthreads does not wait for the block that computes the neighbouring square.
#include <cstdint>

__device__ void square(const float* x, float* squares, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        squares[i] = x[i] * x[i];  // finding: race_global
    }
}

__device__ void add_next(const float* squares, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = squares[i] + squares[(i + 1) % n];  // finding: race_global
    }
}

__global__ void first_phase(const float* x, float* squares, int n) {
    square(x, squares, n);
}

__global__ void second_phase(const float* squares, float* y, int n) {
    add_next(squares, y, n);
}

__global__ void both_phases(const float* x, float* squares, float* y, int n) {
    square(x, squares, n);
    __syncthreads();
    add_next(squares, y, n);
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int blocks = (n + 63) / 64;
#ifdef BUG
    both_phases<<<blocks, 64, 0, stream>>>(x, y + n, y, n);
#else
    first_phase<<<blocks, 64, 0, stream>>>(x, y + n, n);
    second_phase<<<blocks, 64, 0, stream>>>(y + n, y, n);
#endif
}
