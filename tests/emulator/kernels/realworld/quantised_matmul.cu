// int8 product with dp4a and per-row scales, rounded and clamped back to int8.
#include <cstdint>

__global__ void matmul_dp4a(const int* a, const int* b, const float* scales, int8_t* c, int* exact, int m, int n,
                            int words) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n) return;
    int sum = 0;
    for (int w = 0; w < words; ++w) sum = __dp4a(a[row * words + w], b[col * words + w], sum);
    exact[row * n + col] = sum;
    const int rounded = __float2int_rn(sum * scales[row]);
    c[row * n + col] = static_cast<int8_t>(max(-128, min(127, rounded)));
}

extern "C" void run(const int8_t* a, const int8_t* b, const float* scales, int8_t* c, int* exact, int64_t m, int64_t n,
                    int64_t k, cudaStream_t stream) {
    matmul_dp4a<<<dim3((n + 15) / 16, (m + 3) / 4), dim3(16, 4), 0, stream>>>(
        reinterpret_cast<const int*>(a), reinterpret_cast<const int*>(b), scales, c, exact, m, n, k / 4);
}
