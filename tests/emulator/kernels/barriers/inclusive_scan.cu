// Hillis-Steele scan of each row, with two buffers so that a step never reads what it writes.
#include <cstdint>

__global__ void scan_rows(const int* in, int* out, int cols) {
    extern __shared__ int temp[];
    int pout = 0, pin = 1;
    const int t = threadIdx.x;
    const int n = blockDim.x;
    temp[t] = t < cols ? in[blockIdx.x * cols + t] : 0;
    __syncthreads();
    for (int offset = 1; offset < n; offset *= 2) {
        pout = 1 - pout;
        pin = 1 - pout;
        temp[pout * n + t] = temp[pin * n + t] + (t >= offset ? temp[pin * n + t - offset] : 0);
        __syncthreads();
    }
    if (t < cols) out[blockIdx.x * cols + t] = temp[pout * n + t];
}

extern "C" void run(const int* in, int* out, int64_t rows, int64_t cols, cudaStream_t stream) {
    const int threads = ((cols + 31) / 32) * 32;
    scan_rows<<<rows, threads, 2 * threads * sizeof(int), stream>>>(in, out, cols);
}
