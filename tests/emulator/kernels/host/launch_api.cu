// Launches without chevrons: cudaLaunchKernel with an array of argument pointers, cudaLaunchKernelEx with attributes.
#include <cstdint>

__global__ void add_scaled(const float* a, const float* b, float* out, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + factor * b[i];
}

extern "C" void run(const float* a, const float* b, float* first, float* second, int64_t n, cudaStream_t stream) {
    float factor = 2.0f;
    int count = static_cast<int>(n);
    const dim3 grid((count + 31) / 32);
    const dim3 block(32);
    void* arguments[] = {(void*)&a, (void*)&b, (void*)&first, (void*)&factor, (void*)&count};
    cudaLaunchKernel(reinterpret_cast<const void*>(&add_scaled), grid, block, arguments, 0, stream);

    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.stream = stream;
    cudaLaunchKernelEx(&config, add_scaled, a, b, second, 4.0f, count);
}
