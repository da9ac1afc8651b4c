// Elementary functions of half and half2.
#include <cstdint>
#include <cuda_fp16.h>

__global__ void functions(const __half* in, __half* out, __half* rounded, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __half x = in[i];
    __half* y = out + 9 * i;
    y[0] = hexp(x);
    y[1] = hlog(x);
    y[2] = hsqrt(x);
    y[3] = hrsqrt(x);
    y[4] = hrcp(x);
    y[5] = hsin(x);
    y[6] = hcos(x);
    const __half2 pair = h2exp2(__half2half2(x));
    y[7] = __low2half(pair);
    y[8] = __high2half(h2log2(__halves2half2(__half(1.0f), x)));
    __half* r = rounded + 4 * i;
    const __half signed_x = __hsub(x, __half(2.5f));
    r[0] = hfloor(signed_x);
    r[1] = hceil(signed_x);
    r[2] = htrunc(signed_x);
    r[3] = hrint(signed_x);
}

extern "C" void run(const __half* in, __half* out, __half* rounded, int64_t n, cudaStream_t stream) {
    functions<<<(n + 63) / 64, 64, 0, stream>>>(in, out, rounded, n);
}
