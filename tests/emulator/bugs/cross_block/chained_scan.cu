// Sums over all blocks so far, handed from block to block: the flag overtakes the sum that it announces.
#include <cstdint>

__global__ void running_totals(const float* x, float* y, unsigned* state) {
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) {
        ticket = atomicAdd(&state[0], 1u);
    }
    __syncthreads();
    float sum = x[ticket * 32 + threadIdx.x];
    for (int offset = 16; offset > 0; offset /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, offset);
    }
    if (threadIdx.x == 0) {
        while (ticket > 0 && atomicAdd(&state[1], 0u) != ticket) {
        }
        __threadfence();
        y[ticket] = sum + (ticket > 0 ? y[ticket - 1] : 0.0f);  // finding: race_global
#ifndef BUG
        __threadfence();
#endif
        atomicAdd(&state[1], 1u);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    unsigned* state = nullptr;
    cudaMalloc(&state, 2 * sizeof(unsigned));
    cudaMemsetAsync(state, 0, 2 * sizeof(unsigned), stream);
    running_totals<<<n / 32, 32, 0, stream>>>(x, y, state);
    cudaFree(state);
}
