// The pointer has moved on since it was allocated, and is freed where it stands.
#include <cstdint>

__global__ void square(const float* x, float* y, int n) {
    const int i = threadIdx.x;
    if (i < n) {
        y[i] = x[i] * x[i];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    float* buffer = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&buffer), n * sizeof(float));
    float* position = buffer;
    for (int64_t first = 0; first < n; first += 64) {
        square<<<1, 64, 0, stream>>>(x + first, position, static_cast<int>(n - first));
        position += 64;
    }
    cudaMemcpyAsync(y, buffer, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
    cudaStreamSynchronize(stream);
#ifdef BUG
    cudaFree(position - 64);  // finding: invalid_free
#else
    cudaFree(buffer);
#endif
}
