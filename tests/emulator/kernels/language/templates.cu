// Type, non-type, boolean and template template arguments; if constexpr; an explicit specialisation.
#include <cstdint>
#include <type_traits>

enum class Activation { None, Relu, Square };

template <Activation A, typename T>
__device__ __forceinline__ T activate(T x) {
    if constexpr (A == Activation::Relu) {
        return x > T(0) ? x : T(0);
    } else if constexpr (A == Activation::Square) {
        return x * x;
    } else {
        return x;
    }
}

template <typename T>
struct Accumulator {
    using type = T;
};

template <>
struct Accumulator<float> {
    using type = double;
};

template <typename T, template <typename> class Wide, int BLOCK, bool MEAN, Activation A>
__global__ void reduce_rows(const T* x, typename Wide<T>::type* out, int cols) {
    using W = typename Wide<T>::type;
    __shared__ W partial[BLOCK];
    W sum = 0;
    for (int c = threadIdx.x; c < cols; c += BLOCK) sum += activate<A>(static_cast<W>(x[blockIdx.x * cols + c]));
    partial[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = MEAN ? partial[0] / static_cast<W>(cols) : partial[0];
}

extern "C" void run(const float* x, const int64_t* k, double* means, double* squares, int64_t* sums, int64_t rows,
                    int64_t cols, cudaStream_t stream) {
    reduce_rows<float, Accumulator, 32, true, Activation::Relu><<<rows, 32, 0, stream>>>(x, means, cols);
    reduce_rows<float, Accumulator, 64, false, Activation::Square><<<rows, 64, 0, stream>>>(x, squares, cols);
    static_assert(std::is_same_v<Accumulator<int64_t>::type, int64_t>);
    reduce_rows<int64_t, Accumulator, 16, false, Activation::None><<<rows, 16, 0, stream>>>(k, sums, cols);
}
