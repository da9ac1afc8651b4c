// Quantisation to eight bits that clamps after the conversion instead of before it.
#include <cstdint>

__global__ void quantise(const float* x, float* y, int n, float scale) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float level = rintf(x[i] / scale);
#ifdef BUG
        const int integer = min(max((int)level, -128), 127);  // finding: float_conversion
#else
        const int integer = (int)fminf(fmaxf(level, -128.0f), 127.0f);
#endif
        y[i] = integer * scale;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    quantise<<<(n + 127) / 128, 128, 0, stream>>>(x, y, n, 1e-12f);
}
