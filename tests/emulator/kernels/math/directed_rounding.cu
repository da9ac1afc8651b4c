// Arithmetic in the four rounding directions: every bit counts.
#include <cstdint>

constexpr int RESULTS = 22;

__global__ void arithmetic(const float* a, const float* b, float* out, double* doubles, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = a[i], y = b[i];
    float* z = out + i * RESULTS;
    z[0] = __fadd_rn(x, y);
    z[1] = __fadd_rz(x, y);
    z[2] = __fadd_ru(x, y);
    z[3] = __fadd_rd(x, y);
    z[4] = __fmul_rn(x, y);
    z[5] = __fmul_rz(x, y);
    z[6] = __fmul_ru(x, y);
    z[7] = __fmul_rd(x, y);
    z[8] = __fmaf_rn(x, y, x);
    z[9] = __fmaf_rz(x, y, x);
    z[10] = __fmaf_ru(x, y, x);
    z[11] = __fmaf_rd(x, y, x);
    z[12] = __fdiv_rn(x, y);
    z[13] = __fdiv_rz(x, y);
    z[14] = __fdiv_ru(x, y);
    z[15] = __fdiv_rd(x, y);
    z[16] = __fsqrt_rn(fabsf(x));
    z[17] = __fsqrt_ru(fabsf(x));
    z[18] = __frcp_rn(y);
    z[19] = __frcp_rz(y);
    z[20] = __fsub_rd(x, y);
    z[21] = __frsqrt_rn(fabsf(y));
    doubles[3 * i] = __dadd_rn(x, 1e-17);
    doubles[3 * i + 1] = __dadd_ru(x, 1e-17);
    doubles[3 * i + 2] = __dadd_rd(x, 1e-17);
}

extern "C" void run(const float* a, const float* b, float* out, double* doubles, int64_t n, cudaStream_t stream) {
    arithmetic<<<(n + 63) / 64, 64, 0, stream>>>(a, b, out, doubles, n);
}
