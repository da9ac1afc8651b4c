// 32x32 tile per block, 4x4 results per thread, K in slices of 8; bias and ReLU on the way out.
#include <cstdint>

template <int BM, int BN, int BK, int TM, int TN>
__global__ void __launch_bounds__((BM / TM) * (BN / TN))
linear_relu(const float* __restrict__ x, const float* __restrict__ w, const float* __restrict__ bias,
            float* __restrict__ y, int M, int N, int K) {
    __shared__ float xs[BK][BM];
    __shared__ float ws[BK][BN];
    constexpr int THREADS = (BM / TM) * (BN / TN);
    const int t = threadIdx.x;
    const int tm = t / (BN / TN) * TM, tn = t % (BN / TN) * TN;
    const int m0 = blockIdx.y * BM, n0 = blockIdx.x * BN;
    float acc[TM][TN] = {};

    for (int k0 = 0; k0 < K; k0 += BK) {
        for (int e = t; e < BM * BK; e += THREADS) {
            const int m = e / BK, k = e % BK;
            xs[k][m] = m0 + m < M && k0 + k < K ? x[(m0 + m) * K + k0 + k] : 0.0f;
        }
        for (int e = t; e < BN * BK; e += THREADS) {
            const int n = e / BK, k = e % BK;
            ws[k][n] = n0 + n < N && k0 + k < K ? w[(n0 + n) * K + k0 + k] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < BK; ++k) {
            float a[TM], b[TN];
            for (int i = 0; i < TM; ++i) a[i] = xs[k][tm + i];
            for (int j = 0; j < TN; ++j) b[j] = ws[k][tn + j];
            for (int i = 0; i < TM; ++i)
                for (int j = 0; j < TN; ++j) acc[i][j] += a[i] * b[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < TM; ++i) {
        for (int j = 0; j < TN; ++j) {
            const int m = m0 + tm + i, n = n0 + tn + j;
            if (m < M && n < N) y[m * N + n] = fmaxf(acc[i][j] + bias[n], 0.0f);
        }
    }
}

extern "C" void run(const float* x, const float* w, const float* bias, float* y, int64_t M, int64_t N, int64_t K,
                    cudaStream_t stream) {
    const dim3 grid((N + 31) / 32, (M + 31) / 32);
    linear_relu<32, 32, 8, 4, 4><<<grid, 64, 0, stream>>>(x, w, bias, y, M, N, K);
}
