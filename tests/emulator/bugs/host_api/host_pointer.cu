// Weights in the host's memory go to a kernel by their address.
#include <cstdint>
#include <vector>

__global__ void weigh(const float* x, const float* weights, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] * weights[i % 3];  // finding: out_of_bounds_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const std::vector<float> weights = {0.25f, 0.5f, 0.25f};
#ifdef BUG
    weigh<<<(n + 31) / 32, 32, 0, stream>>>(x, weights.data(), y, n);
#else
    float* copy = nullptr;
    cudaMalloc(&copy, 3 * sizeof(float));
    cudaMemcpy(copy, weights.data(), 3 * sizeof(float), cudaMemcpyHostToDevice);
    weigh<<<(n + 31) / 32, 32, 0, stream>>>(x, copy, y, n);
    cudaFree(copy);
#endif
}
