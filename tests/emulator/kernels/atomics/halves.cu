// atomicAdd on half, half2, bfloat16 and bfloat162. Small integers: exact in every order.
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void accumulate(const float* x, __half* h, __half2* h2, __nv_bfloat16* b, __nv_bfloat162* b2, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int slot = i % 7;
    atomicAdd(&h[slot], __float2half(x[i]));
    atomicAdd(&h2[slot], __floats2half2_rn(x[i], -x[i]));
    atomicAdd(&b[slot], __float2bfloat16(x[i]));
    atomicAdd(&b2[slot], __floats2bfloat162_rn(x[i], 2.0f * x[i]));
}

extern "C" void run(const float* x, __half* h, __half* h2, __nv_bfloat16* b, __nv_bfloat16* b2, int64_t n,
                    cudaStream_t stream) {
    cudaMemsetAsync(h, 0, 7 * sizeof(__half), stream);
    cudaMemsetAsync(h2, 0, 14 * sizeof(__half), stream);
    cudaMemsetAsync(b, 0, 7 * sizeof(__nv_bfloat16), stream);
    cudaMemsetAsync(b2, 0, 14 * sizeof(__nv_bfloat16), stream);
    accumulate<<<(n + 63) / 64, 64, 0, stream>>>(x, h, reinterpret_cast<__half2*>(h2), b,
                                                 reinterpret_cast<__nv_bfloat162*>(b2), n);
}
