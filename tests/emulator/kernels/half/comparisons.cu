// Comparisons of halves, NaN included, and the ones that work on pairs.
#include <cstdint>
#include <cuda_fp16.h>

__global__ void compare(const __half* a, const __half* b, int* out, __half* chosen, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __half x = a[i], y = b[i];
    int bits = 0;
    bits |= __heq(x, y) << 0;
    bits |= __hne(x, y) << 1;
    bits |= __hlt(x, y) << 2;
    bits |= __hle(x, y) << 3;
    bits |= __hgt(x, y) << 4;
    bits |= __hge(x, y) << 5;
    bits |= __hequ(x, y) << 6;
    bits |= __hltu(x, y) << 7;
    bits |= __hisnan(x) << 8;
    bits |= (__hisinf(x) != 0) << 9;
    bits |= (x < y) << 10;
    bits |= (x == y) << 11;
    const __half2 xy = __halves2half2(x, y);
    const __half2 yx = __halves2half2(y, x);
    bits |= __hbeq2(xy, yx) << 12;
    bits |= __hbltu2(xy, yx) << 13;
    out[i] = bits;
    const __half2 flags = __hgt2(xy, yx);
    chosen[3 * i] = __hadd(__low2half(flags), __hmul(__high2half(flags), __half(2.0f)));
    chosen[3 * i + 1] = __hmax(x, y);      // the number, when the other is NaN
    chosen[3 * i + 2] = __hmax_nan(x, y);  // NaN
}

extern "C" void run(const __half* a, const __half* b, int* out, __half* chosen, int64_t n, cudaStream_t stream) {
    compare<<<(n + 31) / 32, 32, 0, stream>>>(a, b, out, chosen, n);
}
