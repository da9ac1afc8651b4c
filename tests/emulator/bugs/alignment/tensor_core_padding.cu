// Two halves of padding a row avoid bank conflicts, but tensor cores take rows of whole 16 bytes.
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

using namespace nvcuda;

#ifdef BUG
constexpr int kStride = 16 + 2;
#else
constexpr int kStride = 16 + 8;
#endif

__global__ void square(const float* x, float* y) {
    __shared__ __align__(32) half tile[16 * kStride];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) {
        tile[i / 16 * kStride + i % 16] = __float2half(x[i]);
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    wmma::load_matrix_sync(a, tile, kStride);  // finding: misaligned_access
    wmma::load_matrix_sync(b, tile, kStride);  // finding: misaligned_access
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(y, c, 16, wmma::mem_row_major);
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    square<<<1, 32, 0, stream>>>(x, y);
}
