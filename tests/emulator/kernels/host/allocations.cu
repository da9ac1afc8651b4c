// Allocate, copy both ways, set, free: y = reverse(x) + table, all through the runtime API.
#include <cstdint>
#include <cstdlib>
#include <vector>

__global__ void reverse_add(const float* x, const float* table, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += x[n - 1 - i] + table[i % 16];
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    std::vector<float> table(16);
    for (int k = 0; k < 16; ++k) table[k] = 0.25f * k;

    float *d_table = nullptr, *d_copy = nullptr;
    cudaMalloc(&d_table, table.size() * sizeof(float));
    cudaMalloc((void**)&d_copy, n * sizeof(float));
    cudaMemcpy(d_table, table.data(), table.size() * sizeof(float), cudaMemcpyHostToDevice);
    cudaMemcpyAsync(d_copy, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    cudaMemsetAsync(y, 0, n * sizeof(float), stream);

    reverse_add<<<(n + 127) / 128, 128, 0, stream>>>(d_copy, d_table, y, (int)n);
    cudaStreamSynchronize(stream);

    float* pinned = nullptr;
    cudaMallocHost(&pinned, n * sizeof(float));
    cudaMemcpy(pinned, y, n * sizeof(float), cudaMemcpyDeviceToHost);
    for (int64_t i = 0; i < n; ++i) pinned[i] *= 2.0f;
    cudaMemcpyAsync(y, pinned, n * sizeof(float), cudaMemcpyHostToDevice, stream);
    cudaStreamSynchronize(stream);
    cudaFreeHost(pinned);
    cudaFree(d_table);
    cudaFree(d_copy);
}
