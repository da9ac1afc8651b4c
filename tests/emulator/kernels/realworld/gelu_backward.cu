// Bias and tanh-GELU, and the derivative, both in one element-wise pass over float4.
#include <cstdint>

__device__ __forceinline__ float2 gelu(float x) {
    const float c = 0.7978845608028654f;
    const float t = tanhf(c * (x + 0.044715f * x * x * x));
    const float derivative = 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * c * (1.0f + 3.0f * 0.044715f * x * x);
    return {0.5f * x * (1.0f + t), derivative};
}

__global__ void bias_gelu(const float4* x, const float4* bias, float4* y, float4* dx, int vectors, int row_vectors) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += gridDim.x * blockDim.x) {
        const float4 v = x[i], b = bias[i % row_vectors];
        const float2 g[4] = {gelu(v.x + b.x), gelu(v.y + b.y), gelu(v.z + b.z), gelu(v.w + b.w)};
        y[i] = make_float4(g[0].x, g[1].x, g[2].x, g[3].x);
        dx[i] = make_float4(g[0].y, g[1].y, g[2].y, g[3].y);
    }
}

extern "C" void run(const float* x, const float* bias, float* y, float* dx, int64_t rows, int64_t cols,
                    cudaStream_t stream) {
    bias_gelu<<<2, 96, 0, stream>>>((const float4*)x, (const float4*)bias, (float4*)y, (float4*)dx, rows * cols / 4,
                                    cols / 4);
}
