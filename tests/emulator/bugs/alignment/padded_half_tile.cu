// One half of padding a row avoids bank conflicts but leaves odd rows at odd addresses for half2.
#include <cuda_fp16.h>

#include <cstdint>

#ifdef BUG
constexpr int kPadding = 1;
#else
constexpr int kPadding = 2;
#endif

__global__ void pair_sums(const float* x, float* y) {
    __shared__ __align__(4) __half tile[16][32 + kPadding];
    for (int column = threadIdx.x; column < 32; column += 16) {
        tile[threadIdx.y][column] = __float2half(x[threadIdx.y * 32 + column]);
    }
    __syncthreads();
    const __half* first = &tile[threadIdx.y][2 * threadIdx.x];
    const __half2 pair = *reinterpret_cast<const __half2*>(first);  // finding: misaligned_access
    y[threadIdx.y * 16 + threadIdx.x] = __low2float(pair) + __high2float(pair);
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    pair_sums<<<1, dim3(16, 16), 0, stream>>>(x, y);
}
