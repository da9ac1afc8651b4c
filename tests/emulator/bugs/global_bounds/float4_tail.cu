// The number of vectors is rounded up, so the last one reaches beyond the end.
#include <cstdint>

__global__ void negate(const float* x, float* y, int n) {
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
#ifdef BUG
    if (i < n) {
#else
    if (i + 3 < n) {
#endif
        const float4 v = *reinterpret_cast<const float4*>(x + i);                  // finding: out_of_bounds_global
        *reinterpret_cast<float4*>(y + i) = make_float4(-v.x, -v.y, -v.z, -v.w);  // finding: out_of_bounds_global
    } else {
        for (int j = i; j < n; ++j) {
            y[j] = -x[j];
        }
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int vectors = (n + 3) / 4;
    negate<<<(vectors + 63) / 64, 64, 0, stream>>>(x, y, n);
}
