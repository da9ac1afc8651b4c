// Conversion to MXFP8 (Rouhani et al. 2023, algorithm 1): blocks of 32 values share a power of two. The lanes that hold
// a block, 16 bytes each where the addresses allow it, find its largest magnitude by shuffles; x is read only once.
#include <cuda_fp8.h>

#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int THREADS = 256, BLOCK = 32;

// V neighbouring elements, moved in one transaction.
template <typename E, int V>
struct alignas(V * sizeof(E)) Pack {
    E at[V];
};

template <int V>
__global__ void __launch_bounds__(THREADS)
    convert(const T* __restrict__ x, uint8_t* __restrict__ codes, float* __restrict__ scale, unsigned blocks,
            unsigned across, int cols) {
    constexpr int LANES = BLOCK / V;  // of a block
    // Blocks of a row number `across`. There are no more than elements, of which 32 bits hold the number, with some to
    // spare for the threads past the end; these take part in the shuffles.
    const unsigned block = blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES;
    const int64_t row = block / across;
    const int col = block % across * BLOCK + threadIdx.x % LANES * V;
    const bool inside = block < blocks && col < cols;
    Pack<T, V> value = {};
    if (inside) value = *reinterpret_cast<const Pack<T, V>*>(x + row * cols + col);
    float top = 0.0f;
#pragma unroll
    for (int e = 0; e < V; ++e) top = fmaxf(top, fabsf(float(value.at[e])));
#pragma unroll
    for (int offset = LANES / 2; offset > 0; offset /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));

    // The exponent's bits, with a bias of 127, are eight less than those of `top`, and not below zero, which stands for
    // 2^-127, a subnormal number.
    const int exponent = max((__float_as_int(top) >> 23) - 8, 0);
    const float inverse = __int_as_float((254 - exponent) << 23);
    if (block < blocks && threadIdx.x % LANES == 0)
        scale[block] = exponent == 0 ? __int_as_float(0x400000) : __int_as_float(exponent << 23);
    if (!inside) return;
    Pack<uint8_t, V> result;
    // Beyond 448 comes 448.
#pragma unroll
    for (int e = 0; e < V; ++e)
        result.at[e] = __nv_cvt_float_to_fp8(float(value.at[e]) * inverse, __NV_SATFINITE, __NV_E4M3);
    *reinterpret_cast<Pack<uint8_t, V>*>(codes + row * cols + col) = result;
}

template <int V>
void launch(const T* x, uint8_t* codes, float* scale, int64_t rows, int64_t cols, cudaStream_t stream) {
    const int64_t across = (cols + BLOCK - 1) / BLOCK, blocks = rows * across, held = THREADS / (BLOCK / V);
    convert<V><<<static_cast<unsigned>((blocks + held - 1) / held), THREADS, 0, stream>>>(
        x, codes, scale, static_cast<unsigned>(blocks), static_cast<unsigned>(across), static_cast<int>(cols));
}

}  // namespace

extern "C" void fp8_per_block(const T* x, uint8_t* codes, float* scale, int64_t rows, int64_t cols,
                              cudaStream_t stream) {
    if (rows == 0) return;  // a grid without blocks is an error
    constexpr int V = 16 / sizeof(T);
    const bool vectors = cols % V == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
                         reinterpret_cast<uintptr_t>(codes) % V == 0;
    (vectors ? launch<V> : launch<1>)(x, codes, scale, rows, cols, stream);
}
