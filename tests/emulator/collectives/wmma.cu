// Tensor core fragments of every shape and type: D = 2 (A B + 1).
#include <mma.h>
using namespace nvcuda;

template <class Use, int M, int N, int K, class T, class Layout>
using Operand = wmma::fragment<Use, M, N, K, T, Layout>;

template <class T, class Result, int M, int N, int K, class LayoutA, class LayoutB, class Storage>
__device__ void multiply(const Storage* a, const Storage* b, Result* d) {
    const bool a_by_row = std::is_same<LayoutA, wmma::row_major>::value;
    const bool b_by_row = std::is_same<LayoutB, wmma::row_major>::value;
    Operand<wmma::matrix_a, M, N, K, T, LayoutA> left;
    Operand<wmma::matrix_b, M, N, K, T, LayoutB> right;
    wmma::fragment<wmma::accumulator, M, N, K, Result> sum;
    wmma::fill_fragment(sum, Result(1.0f));
    wmma::load_matrix_sync(left, a, a_by_row ? K : M);
    wmma::load_matrix_sync(right, b, b_by_row ? N : K);
    wmma::mma_sync(sum, left, right, sum);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] * Result(2.0f);
    wmma::store_matrix_sync(d, sum, a_by_row ? N : M, a_by_row ? wmma::mem_row_major : wmma::mem_col_major);
}

// The four combinations of layouts, one after the other.
template <class T, class Result, int M, int N, int K, class Storage>
__global__ void layouts(const Storage* a, const Storage* b, Result* d) {
    multiply<T, Result, M, N, K, wmma::row_major, wmma::row_major>(a, b, d);
    multiply<T, Result, M, N, K, wmma::row_major, wmma::col_major>(a, b, d + M * N);
    multiply<T, Result, M, N, K, wmma::col_major, wmma::row_major>(a, b, d + 2 * M * N);
    multiply<T, Result, M, N, K, wmma::col_major, wmma::col_major>(a, b, d + 3 * M * N);
}

#define RUN(NAME, T, RESULT, STORAGE, M, N, K)                                                         \
    extern "C" void run_##NAME##_##M##x##N##x##K(const STORAGE* a, const STORAGE* b, RESULT* d) {      \
        layouts<T, RESULT, M, N, K><<<1, 32>>>(a, b, d);                                               \
    }
#define RUN_SHAPES(NAME, T, RESULT)       \
    RUN(NAME, T, RESULT, T, 16, 16, 16)   \
    RUN(NAME, T, RESULT, T, 32, 8, 16)    \
    RUN(NAME, T, RESULT, T, 8, 32, 16)

RUN_SHAPES(half_float, __half, float)
RUN_SHAPES(half_half, __half, __half)
RUN_SHAPES(bfloat16, __nv_bfloat16, float)
RUN_SHAPES(int8, signed char, int)
RUN_SHAPES(uint8, unsigned char, int)
RUN(tf32, wmma::precision::tf32, float, float, 16, 16, 8)
RUN(double, double, double, double, 8, 8, 4)

// Where each lane holds which element: the matrix holds its own indices.
template <int M, int N>
__global__ void placement(const float* indices, float* elements) {
    wmma::fragment<wmma::accumulator, M, N, 16, float> held;
    wmma::load_matrix_sync(held, indices, N, wmma::mem_row_major);
    for (int i = 0; i < held.num_elements; ++i) elements[threadIdx.x * held.num_elements + i] = held.x[i];
}

__global__ void rounding(const float* x, float* y) { y[threadIdx.x] = wmma::__float_to_tf32(x[threadIdx.x]); }

__global__ void saturation(const signed char* a, const signed char* b, int* d) {
    Operand<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> left;
    Operand<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
    wmma::fill_fragment(sum, INT_MAX);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum, true);
    wmma::store_matrix_sync(d, sum, 16, wmma::mem_row_major);
}

__global__ void unordered(float* d) {
    __shared__ __align__(32) float tile[256];
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> ones;
    wmma::fill_fragment(ones, 1.0f);
    wmma::store_matrix_sync(tile, ones, 16, wmma::mem_row_major);  // store
    d[threadIdx.x] = tile[255 - threadIdx.x];
}

__global__ void too_far(const float* x, float* y) {
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> held;
    wmma::load_matrix_sync(held, x + 16, 16, wmma::mem_row_major);  // too far
    wmma::store_matrix_sync(y, held, 16, wmma::mem_row_major);
}

extern "C" void run_placement_16x16(const float* x, float* y) { placement<16, 16><<<1, 32>>>(x, y); }
extern "C" void run_placement_32x8(const float* x, float* y) { placement<32, 8><<<1, 32>>>(x, y); }
extern "C" void run_placement_8x32(const float* x, float* y) { placement<8, 32><<<1, 32>>>(x, y); }
extern "C" void run_rounding(const float* x, float* y) { rounding<<<1, 8>>>(x, y); }
extern "C" void run_saturation(const signed char* a, const signed char* b, int* d) { saturation<<<1, 32>>>(a, b, d); }
extern "C" void run_unordered(float* d) { unordered<<<1, 32>>>(d); }
extern "C" void run_too_far(const float* x, float* y) { too_far<<<1, 32>>>(x, y); }
