// Constant memory: a filter that the host fills, a table with an initialiser, a struct.
#include <cstdint>

#define TAPS 5

__constant__ float c_filter[TAPS];
__constant__ int c_offsets[TAPS] = {-2, -1, 0, 1, 2};

struct Settings {
    float scale;
    int bias;
};
__constant__ Settings settings;

__global__ void convolve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = settings.bias;
#pragma unroll
    for (int k = 0; k < TAPS; ++k) {
        int j = i + c_offsets[k];
        if (j >= 0 && j < n) sum += c_filter[k] * x[j];
    }
    y[i] = settings.scale * sum;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const float filter[TAPS] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
    cudaMemcpyToSymbol(c_filter, filter, sizeof(filter));
    Settings host{2.0f, 3};
    cudaMemcpyToSymbolAsync(settings, &host, sizeof(host), 0, cudaMemcpyHostToDevice, stream);
    convolve<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
