#include <cstdint>

#define THREADS 96

__global__ void __launch_bounds__(THREADS) negate(const int* in, int* out, int n) {
    const int i = blockIdx.x * THREADS + threadIdx.x;
    if (i < n) out[i] = -in[i];
}

template <int MAX_THREADS>
__global__ __launch_bounds__(MAX_THREADS, 2) void twice(const int* in, int* out, int n) {
    const int i = blockIdx.x * MAX_THREADS + threadIdx.x;
    if (i < n) out[i] = 2 * in[i];
}

extern "C" __global__ void
__launch_bounds__(64)
plus_one(const int* __restrict__ in, int* __restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] + 1;
}

extern "C" void run(const int* in, int* a, int* b, int* c, int64_t n, cudaStream_t stream) {
    negate<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(in, a, n);
    twice<128><<<(n + 127) / 128, 128, 0, stream>>>(in, b, n);
    plus_one<<<(n + 63) / 64, 64, 0, stream>>>(in, c, n);
}
