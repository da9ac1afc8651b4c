// Strided batches in float, one product in half with float accumulation, one in double.
#include <cstdint>
#include <cublas_v2.h>
#include <cuda_fp16.h>

extern "C" void run(const float* a, const float* b, const __half* ha, const __half* hb, const double* da, float* c,
                    __half* hc, double* dc, int64_t batch, int64_t m, int64_t n, int64_t k, cudaStream_t stream) {
    cublasHandle_t handle;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return;
    cublasSetStream(handle, stream);
    cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH);
    float alpha = 1.0f, beta = 0.0f;
    cublasSgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &alpha, b, n, k * n, a, k, m * k, &beta, c, n,
                              m * n, batch);
    cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &alpha, hb, CUDA_R_16F, n, ha, CUDA_R_16F, k, &beta, hc,
                 CUDA_R_16F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    double dalpha = 0.5, dbeta = 0.0;
    cublasDgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, m, m, k, &dalpha, da, k, da, k, &dbeta, dc, m);
    cudaStreamSynchronize(stream);
    cublasDestroy(handle);
}
