// D = relu(2 A B^T + C) in half, column-major fragments from shared memory, two warps a block.
#include <cstdint>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void gemm_relu(const __half* a, const __half* b, const __half* c, __half* d, int n, int k) {
    __shared__ __align__(32) __half tile_a[32][24];
    __shared__ __align__(32) __half tile_b[16][24];
    const int warp = threadIdx.x / 32;
    const int row = blockIdx.y * 32;
    const int col = blockIdx.x * 16;

    wmma::fragment<wmma::accumulator, 16, 16, 16, __half> sum, bias;
    wmma::fill_fragment(sum, __float2half(0.0f));
    for (int step = 0; step < k; step += 16) {
        for (int e = threadIdx.x; e < 32 * 16; e += 64) tile_a[e / 16][e % 16] = a[(row + e / 16) * k + step + e % 16];
        for (int e = threadIdx.x; e < 16 * 16; e += 64) tile_b[e / 16][e % 16] = b[(col + e / 16) * k + step + e % 16];
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
        wmma::load_matrix_sync(left, &tile_a[warp * 16][0], 24);
        wmma::load_matrix_sync(right, &tile_b[0][0], 24);
        wmma::mma_sync(sum, left, right, sum);
        __syncthreads();
    }

    const int offset = (row + warp * 16) * n + col;
    wmma::load_matrix_sync(bias, c + offset, n, wmma::mem_row_major);
    for (int e = 0; e < sum.num_elements; ++e) {
        const __half value = __hfma(sum.x[e], __float2half(2.0f), bias.x[e]);
        sum.x[e] = __hgt(value, __float2half(0.0f)) ? value : __float2half(0.0f);
    }
    wmma::store_matrix_sync(d + offset, sum, n, wmma::mem_row_major);
}

extern "C" void run(const __half* a, const __half* b, const __half* c, __half* d, int64_t m, int64_t n, int64_t k,
                    cudaStream_t stream) {
    gemm_relu<<<dim3(n / 16, m / 32), 64, 0, stream>>>(a, b, c, d, n, k);
}
