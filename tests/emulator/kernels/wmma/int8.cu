// Signed and unsigned bytes with int accumulators: exact. The operands come as a list of dense 16x16 tiles.
#include <cstdint>
#include <mma.h>

using namespace nvcuda;

template <typename T>
__global__ void product(const T* a, const T* b, int* c, int tiles) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
    wmma::fill_fragment(sum, 0);
    for (int t = 0; t < tiles; ++t) {
        wmma::load_matrix_sync(left, a + t * 256, 16);
        wmma::load_matrix_sync(right, b + t * 256, 16);
        wmma::mma_sync(sum, left, right, sum);
    }
    for (int e = 0; e < sum.num_elements; ++e) sum.x[e] -= 100;
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

extern "C" void run(const int8_t* a, const int8_t* b, const uint8_t* ua, const uint8_t* ub, int* c, int* uc,
                    int64_t tiles, cudaStream_t stream) {
    product<signed char><<<1, 32, 0, stream>>>(a, b, c, tiles);
    product<unsigned char><<<1, 32, 0, stream>>>(ua, ub, uc, tiles);
}
