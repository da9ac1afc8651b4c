// C = A B with half inputs and float accumulators, one warp per 16x16 tile.
#include <cstdint>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

const int WMMA_M = 16;
const int WMMA_N = 16;
const int WMMA_K = 16;

__global__ void wmma_gemm(const half* a, const half* b, float* c, int M, int N, int K) {
    int warpM = blockIdx.y;
    int warpN = blockIdx.x;

    wmma::fragment<wmma::matrix_a, WMMA_M, WMMA_N, WMMA_K, half, wmma::row_major> a_frag;
    wmma::fragment<wmma::matrix_b, WMMA_M, WMMA_N, WMMA_K, half, wmma::row_major> b_frag;
    wmma::fragment<wmma::accumulator, WMMA_M, WMMA_N, WMMA_K, float> acc_frag;
    wmma::fill_fragment(acc_frag, 0.0f);

    for (int k = 0; k < K; k += WMMA_K) {
        wmma::load_matrix_sync(a_frag, a + warpM * WMMA_M * K + k, K);
        wmma::load_matrix_sync(b_frag, b + k * N + warpN * WMMA_N, N);
        wmma::mma_sync(acc_frag, a_frag, b_frag, acc_frag);
    }
    wmma::store_matrix_sync(c + warpM * WMMA_M * N + warpN * WMMA_N, acc_frag, N, wmma::mem_row_major);
}

extern "C" void run(const half* a, const half* b, float* c, int64_t M, int64_t N, int64_t K, cudaStream_t stream) {
    wmma_gemm<<<dim3(N / WMMA_N, M / WMMA_M), 32, 0, stream>>>(a, b, c, M, N, K);
}
