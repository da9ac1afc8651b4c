// half arithmetic by intrinsic and by operator.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int RESULTS = 12;

__global__ void arithmetic(const __half* a, const __half* b, __half* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __half x = a[i];
    const __half y = b[i];
    __half* mine = out + i * RESULTS;
    mine[0] = __hadd(x, y);
    mine[1] = __hsub(x, y);
    mine[2] = __hmul(x, y);
    mine[3] = __hdiv(x, y);
    mine[4] = __hfma(x, y, x);
    mine[5] = __hneg(x);
    mine[6] = __habs(x);
    mine[7] = x + y * __float2half(2.0f);
    mine[8] = __hadd_sat(x, y);
    mine[9] = __hmax(x, y);
    mine[10] = __hmin(x, y);
    __half sum = x;
    sum += y;
    sum -= __half(0.5f);
    sum *= y;
    mine[11] = -sum;
}

extern "C" void run(const __half* a, const __half* b, __half* out, int64_t n, cudaStream_t stream) {
    arithmetic<<<(n + 63) / 64, 64, 0, stream>>>(a, b, out, n);
}
