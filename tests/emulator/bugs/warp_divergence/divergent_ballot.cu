// A vote of the whole warp inside a branch that depends on the data.
#include <cstdint>

__global__ void rank_positives(const float* x, float* y) {
    const int lane = threadIdx.x;
    const float value = x[lane];
    float rank = -1.0f;
#ifdef BUG
    if (value > 0.0f) {
        const unsigned positives = __ballot_sync(0xffffffffu, value > 0.0f);  // finding: warp_divergence
#else
    const unsigned positives = __ballot_sync(0xffffffffu, value > 0.0f);
    if (value > 0.0f) {
#endif
        rank = __popc(positives & ((1u << lane) - 1u));
    }
    __syncwarp();  // finding: warp_divergence
    y[lane] = rank;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    rank_positives<<<1, 32, 0, stream>>>(x, y);
}
