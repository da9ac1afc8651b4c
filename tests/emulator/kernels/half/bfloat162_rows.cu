// Scale and shift of rows in bfloat16 pairs, accumulation in float.
#include <cstdint>
#include <cuda_bf16.h>

__global__ void affine(const __nv_bfloat162* x, const __nv_bfloat162* gain, __nv_bfloat162* y, float* sums, int pairs) {
    const int row = blockIdx.x;
    float sum = 0.0f;
    for (int p = threadIdx.x; p < pairs; p += 32) {
        const __nv_bfloat162 value = x[row * pairs + p];
        const __nv_bfloat162 shifted = __hfma2(value, gain[p], __float2bfloat162_rn(0.5f));
        y[row * pairs + p] = __hmul2(shifted, __floats2bfloat162_rn(2.0f, -2.0f));
        const float2 wide = __bfloat1622float2(shifted);
        sum += wide.x + wide.y;
    }
    for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x == 0) sums[row] = sum;
}

extern "C" void run(const __nv_bfloat16* x, const __nv_bfloat16* gain, __nv_bfloat16* y, float* sums, int64_t rows,
                    int64_t cols, cudaStream_t stream) {
    affine<<<rows, 32, 0, stream>>>(reinterpret_cast<const __nv_bfloat162*>(x),
                                    reinterpret_cast<const __nv_bfloat162*>(gain),
                                    reinterpret_cast<__nv_bfloat162*>(y), sums, cols / 2);
}
