// bfloat16 tiles of 32x8x16 and 8x32x16.
#include <cstdint>
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

template <int M, int N>
__global__ void product(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int k) {
    wmma::fragment<wmma::matrix_a, M, N, 16, __nv_bfloat16, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, M, N, 16, __nv_bfloat16, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, M, N, 16, float> sum;
    wmma::fill_fragment(sum, 1.0f);
    for (int step = 0; step < k; step += 16) {
        wmma::load_matrix_sync(left, a + step, k);
        wmma::load_matrix_sync(right, b + step, k);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c, sum, M, wmma::mem_col_major);
}

extern "C" void run(const __nv_bfloat16* tall, const __nv_bfloat16* flat, float* first, float* second, int64_t k,
                    cudaStream_t stream) {
    product<32, 8><<<1, 32, 0, stream>>>(tall, flat, first, k);
    product<8, 32><<<1, 32, 0, stream>>>(flat, tall, second, k);
}
