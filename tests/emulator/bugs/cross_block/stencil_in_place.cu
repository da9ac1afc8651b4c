// A stencil that reads and writes one array: neighbours see old or new values, as it happens.
#include <cstdint>

__global__ void smooth(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < n - 1) {
        out[i] = 0.25f * in[i - 1] + 0.5f * in[i] + 0.25f * in[i + 1];  // finding: race_global
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
#ifdef BUG
    smooth<<<(n + 31) / 32, 32, 0, stream>>>(y, y, n);
#else
    smooth<<<(n + 31) / 32, 32, 0, stream>>>(x, y, n);
#endif
}
