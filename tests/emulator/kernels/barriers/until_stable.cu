// Odd-even transposition sort that ends as soon as a whole round swaps nothing anywhere in the block.
#include <cstdint>

__global__ void sort_rows(const int* in, int* out, int cols) {
    __shared__ int values[128];
    const int t = threadIdx.x;
    for (int c = t; c < cols; c += blockDim.x) values[c] = in[blockIdx.x * cols + c];
    __syncthreads();

    int swapped;
    do {
        swapped = 0;
        for (int phase = 0; phase < 2; ++phase) {
            const int left = 2 * t + phase;
            if (left + 1 < cols && values[left] > values[left + 1]) {
                const int held = values[left];
                values[left] = values[left + 1];
                values[left + 1] = held;
                swapped = 1;
            }
            __syncthreads();
        }
    } while (__syncthreads_or(swapped));

    for (int c = t; c < cols; c += blockDim.x) out[blockIdx.x * cols + c] = values[c];
}

extern "C" void run(const int* in, int* out, int64_t rows, int64_t cols, cudaStream_t stream) {
    sort_rows<<<rows, 32, 0, stream>>>(in, out, cols);
}
