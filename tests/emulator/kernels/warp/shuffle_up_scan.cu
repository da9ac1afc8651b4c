// Inclusive prefix sums of rows of any length: a warp scan with a running carry.
#include <cstdint>

#define FULL_MASK 0xffffffffu

__global__ void warp_scan(const int* in, int* out, int cols) {
    const int lane = threadIdx.x & 31;
    const int* from = in + blockIdx.x * cols;
    int* to = out + blockIdx.x * cols;
    int carry = 0;
    for (int base = 0; base < cols; base += 32) {
        int value = base + lane < cols ? from[base + lane] : 0;
#pragma unroll
        for (int delta = 1; delta < 32; delta <<= 1) {
            int other = __shfl_up_sync(FULL_MASK, value, delta);
            if (lane >= delta) value += other;
        }
        value += carry;
        if (base + lane < cols) to[base + lane] = value;
        carry = __shfl_sync(FULL_MASK, value, 31);
    }
}

extern "C" void run(const int* in, int* out, int64_t rows, int64_t cols, cudaStream_t stream) {
    warp_scan<<<rows, 32, 0, stream>>>(in, out, cols);
}
