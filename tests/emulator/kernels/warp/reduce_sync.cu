// The warp-wide integer reductions of compute capability 8.0, on all lanes and on the even ones.
#include <cstdint>

__global__ void reductions(const int* in, int* out) {
    const int value = in[blockIdx.x * 32 + threadIdx.x];
    const unsigned bits = static_cast<unsigned>(value);
    const unsigned all = 0xffffffffu;
    int results[9];
    results[0] = __reduce_add_sync(all, value);
    results[1] = __reduce_min_sync(all, value);
    results[2] = __reduce_max_sync(all, value);
    results[3] = __reduce_and_sync(all, bits);
    results[4] = __reduce_or_sync(all, bits);
    results[5] = __reduce_xor_sync(all, bits);
    results[6] = __reduce_max_sync(all, bits);
    results[7] = 0;
    results[8] = 0;
    if (threadIdx.x % 2 == 0) {
        results[7] = __reduce_add_sync(0x55555555u, value);
        results[8] = __reduce_min_sync(0x55555555u, bits);
    }
    if (threadIdx.x == 30) {
        for (int k = 0; k < 9; ++k) out[blockIdx.x * 9 + k] = results[k];
    }
}

extern "C" void run(const int* in, int* out, int64_t rows, cudaStream_t stream) {
    reductions<<<rows, 32, 0, stream>>>(in, out);
}
