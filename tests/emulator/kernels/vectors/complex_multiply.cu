#include <cstdint>

__host__ __device__ inline float2 operator*(const float2& a, const float2& b) {
    return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

__host__ __device__ inline float2& operator+=(float2& a, const float2& b) {
    a.x += b.x;
    a.y += b.y;
    return a;
}

// z[i] = a[i] * b[i] + a[i]
__global__ void multiply_add(const float2* a, const float2* b, float2* z, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float2 product = a[i] * b[i];
        product += a[i];
        z[i] = product;
    }
}

extern "C" void run(const float* a, const float* b, float* z, int64_t n, cudaStream_t stream) {
    multiply_add<<<(n + 63) / 64, 64, 0, stream>>>((const float2*)a, (const float2*)b, (float2*)z, (int)n);
}
