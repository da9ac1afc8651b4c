// bfloat16 by intrinsic and by operator, and conversions in every direction.
#include <cstdint>
#include <cuda_bf16.h>

__global__ void arithmetic(const __nv_bfloat16* a, const __nv_bfloat16* b, const float* x, __nv_bfloat16* out,
                           float* floats, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __nv_bfloat16 p = a[i];
    const __nv_bfloat16 q = b[i];
    __nv_bfloat16* mine = out + 11 * i;
    mine[0] = __hadd(p, q);
    mine[1] = __hmul(p, q);
    mine[2] = __hfma(p, q, q);
    mine[3] = p - q;
    mine[4] = p / q;
    mine[5] = __hmax(p, q);
    mine[6] = __float2bfloat16(x[i]);
    mine[7] = __float2bfloat16_rz(x[i]);
    mine[8] = __float2bfloat16_ru(x[i]);
    mine[9] = __float2bfloat16_rd(x[i]);
    mine[10] = static_cast<__nv_bfloat16>(__bfloat162float(p) * 3.0f);
    floats[3 * i] = __bfloat162float(p);
    floats[3 * i + 1] = p < q ? 1.0f : p == q ? 0.5f : 0.0f;
    floats[3 * i + 2] = static_cast<float>(__bfloat16_as_ushort(q));
}

extern "C" void run(const __nv_bfloat16* a, const __nv_bfloat16* b, const float* x, __nv_bfloat16* out, float* floats,
                    int64_t n, cudaStream_t stream) {
    arithmetic<<<(n + 63) / 64, 64, 0, stream>>>(a, b, x, out, floats, n);
}
