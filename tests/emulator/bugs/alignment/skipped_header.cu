// float4 loads from an array whose first element is skipped.
#include <cstdint>

__global__ void norms(const float* values, float* y, int vectors) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < vectors) {
#ifdef BUG
        const float4 v = reinterpret_cast<const float4*>(values)[i];  // finding: misaligned_access
#else
        const float4 v = make_float4(values[4 * i], values[4 * i + 1], values[4 * i + 2], values[4 * i + 3]);
#endif
        y[i] = sqrtf(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int vectors = n / 4;
    norms<<<(vectors + 31) / 32, 32, 0, stream>>>(x + 1, y, vectors);
}
