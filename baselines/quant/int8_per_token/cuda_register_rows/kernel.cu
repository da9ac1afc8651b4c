// Symmetric quantisation of each token to eight bits (Dettmers et al. 2022, section 2), with a power of two as scale. A
// block finds the largest magnitude of a row that it keeps in registers, so that x is read only once.
#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

using T = KBENCH_T;
// With 16-byte vectors, 1024 threads hold 16384 floats.
constexpr int HELD = 4;

// V neighbouring elements, moved in one transaction.
template <typename E, int V>
struct alignas(V * sizeof(E)) Pack {
    E at[V];
};

// Every thread gets the maximum over the block, whose size is a multiple of 32.
__device__ float block_max(float value) {
    __shared__ float partial[32];
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? partial[threadIdx.x % 32] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2) value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
    return value;
}

// The biased exponent of the smallest power of two, from 2^-126 on, of which 127 reach `top`; that of one for zero. A
// fraction above that of 127, which is 0x7e0000, carries over into the exponent; six less is a seventh, and the bias.
__device__ int exponent_of(float top) {
    return top == 0.0f ? 127 : max(((__float_as_int(top) + 0x1ffff) >> 23) - 6, 1);
}

// Both factors are powers of two: the product is exact, or so small that its code is zero.
template <int V>
__device__ Pack<uint8_t, V> quantise(const Pack<T, V>& value, float inverse) {
    Pack<uint8_t, V> codes;
#pragma unroll
    for (int e = 0; e < V; ++e) codes.at[e] = uint8_t(__float2int_rn(float(value.at[e]) * inverse) + 128);
    return codes;
}

template <int V>
__device__ float largest(float top, const Pack<T, V>& value) {
#pragma unroll
    for (int e = 0; e < V; ++e) top = fmaxf(top, fabsf(float(value.at[e])));
    return top;
}

template <int V>
__global__ void __launch_bounds__(1024)
    quantise_rows(const T* __restrict__ x, uint8_t* __restrict__ codes, float* __restrict__ scale, int64_t width) {
    const int64_t token = blockIdx.x, vectors = width / V;
    const auto* from = reinterpret_cast<const Pack<T, V>*>(x + token * width);
    auto* to = reinterpret_cast<Pack<uint8_t, V>*>(codes + token * width);
    // The first HELD vectors of a thread stay in registers; those beyond, in rows too long for a block, are read again.
    const int64_t beyond = threadIdx.x + HELD * int64_t(blockDim.x);
    Pack<T, V> held[HELD];
    float top = 0.0f;
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        if (threadIdx.x + i * blockDim.x < vectors) held[i] = from[threadIdx.x + i * blockDim.x];
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        if (threadIdx.x + i * blockDim.x < vectors) top = largest<V>(top, held[i]);
    for (int64_t v = beyond; v < vectors; v += blockDim.x) top = largest<V>(top, from[v]);

    const int exponent = exponent_of(block_max(top));
    const float inverse = __int_as_float((254 - exponent) << 23);
    if (threadIdx.x == 0) scale[token] = __int_as_float(exponent << 23);
#pragma unroll
    for (int i = 0; i < HELD; ++i)
        if (threadIdx.x + i * blockDim.x < vectors)
            to[threadIdx.x + i * blockDim.x] = quantise<V>(held[i], inverse);
    for (int64_t v = beyond; v < vectors; v += blockDim.x) to[v] = quantise<V>(from[v], inverse);
}

template <int V>
void launch(const T* x, uint8_t* codes, float* scale, int64_t tokens, int64_t width, cudaStream_t stream) {
    const int64_t warps = (width / V + 32 * HELD - 1) / (32 * HELD);
    const auto threads = static_cast<unsigned>(32 * std::min<int64_t>(warps, 32));
    quantise_rows<V><<<static_cast<unsigned>(tokens), threads, 0, stream>>>(x, codes, scale, width);
}

}  // namespace

extern "C" void int8_per_token(const T* x, uint8_t* codes, float* scale, int64_t tokens, int64_t width,
                               cudaStream_t stream) {
    if (tokens == 0) return;  // a grid without blocks is an error
    constexpr int V = 16 / sizeof(T);
    const bool vectors = width % V == 0 && reinterpret_cast<uintptr_t>(x) % 16 == 0 &&
                         reinterpret_cast<uintptr_t>(codes) % V == 0;
    (vectors ? launch<V> : launch<1>)(x, codes, scale, tokens, width, stream);
}
