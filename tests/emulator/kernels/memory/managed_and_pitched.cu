// Memory that the kernel's host code allocates: pitched rows, managed words, a heap buffer from cudaMallocAsync.
#include <cstdint>

__managed__ int managed_sum;

__global__ void sum_rows(const char* pitched, size_t pitch, int* sums, int rows, int cols) {
    const int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows) return;
    const int* row = reinterpret_cast<const int*>(pitched + r * pitch);
    int sum = 0;
    for (int c = 0; c < cols; ++c) sum += row[c];
    sums[r] = sum;
    atomicAdd(&managed_sum, sum);
}

extern "C" void run(const int* in, int* sums, int* total, int64_t rows, int64_t cols, cudaStream_t stream) {
    void* pitched = nullptr;
    size_t pitch = 0;
    cudaMallocPitch(&pitched, &pitch, cols * sizeof(int), rows);
    cudaMemcpy2D(pitched, pitch, in, cols * sizeof(int), cols * sizeof(int), rows, cudaMemcpyDeviceToDevice);
    managed_sum = 0;
    int* scratch = nullptr;
    cudaMallocAsync(reinterpret_cast<void**>(&scratch), rows * sizeof(int), stream);
    sum_rows<<<(rows + 31) / 32, 32, 0, stream>>>(static_cast<char*>(pitched), pitch, scratch, rows, cols);
    cudaMemcpyAsync(sums, scratch, rows * sizeof(int), cudaMemcpyDeviceToDevice, stream);
    cudaFreeAsync(scratch, stream);
    cudaStreamSynchronize(stream);
    const int sum = managed_sum;
    cudaMemcpy(total, &sum, sizeof(int), cudaMemcpyHostToDevice);
    cudaFree(pitched);
}
