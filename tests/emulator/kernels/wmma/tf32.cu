// float inputs rounded to tf32 by the kernel, 16x16x8.
#include <cstdint>
#include <mma.h>

using namespace nvcuda;

__global__ void product(const float* a, const float* b, float* c, int n, int k) {
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int step = 0; step < k; step += 8) {
        wmma::load_matrix_sync(left, a + blockIdx.y * 16 * k + step, k);
        wmma::load_matrix_sync(right, b + step * n + blockIdx.x * 16, n);
        for (int e = 0; e < left.num_elements; ++e) left.x[e] = wmma::__float_to_tf32(left.x[e]);
        for (int e = 0; e < right.num_elements; ++e) right.x[e] = wmma::__float_to_tf32(right.x[e]);
        wmma::mma_sync(sum, left, right, sum);
    }
    wmma::store_matrix_sync(c + blockIdx.y * 16 * n + blockIdx.x * 16, sum, n, wmma::mem_row_major);
}

extern "C" void run(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t stream) {
    product<<<dim3(n / 16, m / 16), 32, 0, stream>>>(a, b, c, n, k);
}
