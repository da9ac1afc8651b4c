// __device__ variables: written and read by symbol and by address.
#include <cstdint>

__device__ float offsets[8];
__device__ int calls = 40;
__device__ int* scratch;
static __device__ double total;

__global__ void add_offsets(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] + offsets[i % 8];
        atomicAdd(&total, 0.25);
    }
    if (i == 0) {
        calls += 2;
        scratch[0] = calls;
    }
}

extern "C" void run(const float* x, float* y, double* sum, int* count, int64_t n, cudaStream_t stream) {
    float host[8];
    for (int k = 0; k < 8; ++k) host[k] = 0.5f * k;
    cudaMemcpyToSymbol(offsets, host, sizeof(float) * 4);
    cudaMemcpyToSymbol(offsets, host + 4, sizeof(float) * 4, 4 * sizeof(float));
    void* address = nullptr;
    cudaGetSymbolAddress(&address, total);
    cudaMemset(address, 0, sizeof(double));
    const int start = 40;
    cudaMemcpyToSymbol(calls, &start, sizeof(int));
    cudaMemcpyToSymbol(scratch, &count, sizeof(int*));
    add_offsets<<<(n + 31) / 32, 32, 0, stream>>>(x, y, n);
    cudaStreamSynchronize(stream);
    double result = 0.0;
    cudaMemcpyFromSymbol(&result, total, sizeof(double));
    cudaMemcpy(sum, &result, sizeof(double), cudaMemcpyHostToDevice);
    size_t bytes = 0;
    cudaGetSymbolSize(&bytes, offsets);
    const int size = static_cast<int>(bytes);
    cudaMemcpy(count + 1, &size, sizeof(int), cudaMemcpyHostToDevice);
}
