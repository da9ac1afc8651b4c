// The same kernel with several shared tiles: the size and the type are template arguments.
#include <cstdint>

template <typename T, int RADIUS, int BLOCK>
__global__ void moving_sum(const T* in, T* out, int n) {
    __shared__ T window[BLOCK + 2 * RADIUS];
    const int start = blockIdx.x * BLOCK - RADIUS;
    for (int k = threadIdx.x; k < BLOCK + 2 * RADIUS; k += BLOCK) {
        const int i = start + k;
        window[k] = i >= 0 && i < n ? in[i] : T(0);
    }
    __syncthreads();
    const int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= n) return;
    T sum = 0;
#pragma unroll
    for (int k = 0; k <= 2 * RADIUS; ++k) sum += window[threadIdx.x + k];
    out[i] = sum;
}

template <typename T, int RADIUS, int BLOCK>
static void launch(const T* in, T* out, int n, cudaStream_t stream) {
    moving_sum<T, RADIUS, BLOCK><<<(n + BLOCK - 1) / BLOCK, BLOCK, 0, stream>>>(in, out, n);
}

extern "C" void run(const int* a, const int64_t* b, int* narrow, int* wide, int64_t* longs, int64_t n,
                    cudaStream_t stream) {
    launch<int, 1, 32>(a, narrow, n, stream);
    launch<int, 5, 40>(a, wide, n, stream);
    launch<int64_t, 3, 64>(b, longs, n, stream);
}
