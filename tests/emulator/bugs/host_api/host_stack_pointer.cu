// The address of a variable on the host's stack as the place of a kernel's result.
#include <cstdint>

__global__ void total(const float* x, float* sum, int n) {
    for (int i = 0; i < n; ++i) {
        *sum += x[i];  // finding: out_of_bounds_global
    }
}

__global__ void fill(float* y, float value, int n) {
    const int i = threadIdx.x;
    if (i < n) {
        y[i] = value;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    float sum = 0.0f;
#ifdef BUG
    total<<<1, 1, 0, stream>>>(x, &sum, n);
#else
    float* device_sum = nullptr;
    cudaMalloc(&device_sum, sizeof(float));
    cudaMemset(device_sum, 0, sizeof(float));
    total<<<1, 1, 0, stream>>>(x, device_sum, n);
    cudaMemcpy(&sum, device_sum, sizeof(float), cudaMemcpyDeviceToHost);
    cudaFree(device_sum);
#endif
    fill<<<1, n, 0, stream>>>(y, sum, n);
}
