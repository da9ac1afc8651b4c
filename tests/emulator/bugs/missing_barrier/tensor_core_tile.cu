// A warp loads matrices for its tensor cores from shared memory that another warp has yet to fill.
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

using namespace nvcuda;

__global__ void square(const float* x, float* y) {
    __shared__ __align__(32) half tile[16 * 16];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        tile[i] = __float2half(x[i]);  // finding: race_shared
    }
#ifndef BUG
    __syncthreads();
#endif
    if (threadIdx.x < 32) {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
        wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
        wmma::fill_fragment(c, 0.0f);
        wmma::load_matrix_sync(a, tile, 16);  // finding: race_shared
        wmma::load_matrix_sync(b, tile, 16);  // finding: race_shared
        wmma::mma_sync(c, a, b, c);
        wmma::store_matrix_sync(y, c, 16, wmma::mem_row_major);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    square<<<1, 64, 0, stream>>>(x, y);
}
