// __ldg and the loads and stores with a cache hint, on scalars and vectors.
#include <cstdint>
#include <cuda_fp16.h>

__global__ void hints(const float* __restrict__ x, const int* k, const __half* h, float* y, float4* z, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = __ldg(&x[i]);
        sum += __ldca(x + i) + __ldcg(x + i) + __ldcs(x + i) + __ldlu(x + i) + __ldcv(x + i);
        sum += static_cast<float>(__ldg(k + i)) + __half2float(__ldg(h + i));
        __stcs(y + i, sum);
    }
    if (4 * i + 3 < n) {
        float4 v = __ldg(reinterpret_cast<const float4*>(x) + i);
        const float4 w = __ldcs(reinterpret_cast<const float4*>(x) + i);
        v.x += w.w;
        v.w += w.x;
        if (i % 3 == 0) __stcg(z + i, v);
        if (i % 3 == 1) __stwb(z + i, v);
        if (i % 3 == 2) __stwt(z + i, v);
    }
}

extern "C" void run(const float* x, const int* k, const __half* h, float* y, float* z, int64_t n, cudaStream_t stream) {
    hints<<<(n + 63) / 64, 64, 0, stream>>>(x, k, h, y, reinterpret_cast<float4*>(z), n);
}
