// Single-precision functions of one argument.
#include <cmath>
#include <cstdint>

constexpr int RESULTS = 24;

__global__ void functions(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = in[i];
    float* y = out + i * RESULTS;
    y[0] = expf(x);
    y[1] = exp2f(x);
    y[2] = expm1f(x);
    y[3] = logf(x);
    y[4] = log2f(x);
    y[5] = log10f(x);
    y[6] = log1pf(x);
    y[7] = sqrtf(x);
    y[8] = rsqrtf(x);
    y[9] = cbrtf(x);
    y[10] = sinf(x);
    y[11] = cosf(x);
    y[12] = tanf(x);
    y[13] = asinf(x / 8.0f);
    y[14] = atanf(x);
    y[15] = sinhf(x);
    y[16] = tanhf(x);
    y[17] = erff(x);
    y[18] = erfcf(x);
    y[19] = normcdff(x);
    y[20] = lgammaf(x);
    y[21] = tgammaf(x);
    sincosf(x, &y[22], &y[23]);
}

extern "C" void run(const float* in, float* out, int64_t n, cudaStream_t stream) {
    functions<<<(n + 63) / 64, 64, 0, stream>>>(in, out, n);
}
