// Moves each warp's positive values to its front; the vote that counts them does not order shared memory.
#include <cstdint>

__global__ void positives_first(const float* x, float* y, int n) {
    __shared__ float kept[32];
    const int lane = threadIdx.x;
    const float value = x[blockIdx.x * 32 + lane];
    const bool keep = value > 0.0f;
    const unsigned keepers = __ballot_sync(0xffffffffu, keep);
    if (keep) {
        kept[__popc(keepers & ((1u << lane) - 1u))] = value;  // finding: race_shared
    }
    const int count = __popc(__ballot_sync(0xffffffffu, keep));
#ifndef BUG
    __syncwarp();
#endif
    y[blockIdx.x * 32 + lane] = lane < count ? kept[lane] : 0.0f;  // finding: race_shared
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    positives_first<<<n / 32, 32, 0, stream>>>(x, y, n);
}
