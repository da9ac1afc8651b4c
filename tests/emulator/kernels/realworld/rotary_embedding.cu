// Rotary position embedding of half pairs, angles computed on the fly.
#include <cstdint>
#include <cuda_fp16.h>

__global__ void rope(const half2* x, half2* y, int heads, int pairs) {
    const int position = blockIdx.x;
    for (int e = threadIdx.x; e < heads * pairs; e += blockDim.x) {
        const int p = e % pairs;
        const float frequency = powf(10000.0f, -static_cast<float>(p) / pairs);
        float sine, cosine;
        sincosf(position * frequency, &sine, &cosine);
        const float2 v = __half22float2(x[position * heads * pairs + e]);
        y[position * heads * pairs + e] = __floats2half2_rn(v.x * cosine - v.y * sine, v.x * sine + v.y * cosine);
    }
}

extern "C" void run(const __half* x, __half* y, int64_t positions, int64_t heads, int64_t dim, cudaStream_t stream) {
    rope<<<positions, 48, 0, stream>>>(reinterpret_cast<const half2*>(x), reinterpret_cast<half2*>(y), heads, dim / 2);
}
