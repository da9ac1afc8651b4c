// Keeps a row's positive elements in order: ballot, popcount of the lanes below, running base.
#include <cstdint>

__global__ void compact(const float* x, float* kept, int* counts, int cols) {
    const unsigned lane = threadIdx.x;
    const unsigned below = (1u << lane) - 1;
    const float* row = x + blockIdx.x * cols;
    float* to = kept + blockIdx.x * cols;
    int base = 0;
    for (int start = 0; start < cols; start += 32) {
        const int c = start + lane;
        const float value = c < cols ? row[c] : -1.0f;
        const bool keep = value > 0.0f;
        const unsigned ballot = __ballot_sync(0xffffffffu, keep);
        if (keep) to[base + __popc(ballot & below)] = value;
        base += __popc(ballot);
    }
    for (int c = base + lane; c < cols; c += 32) to[c] = 0.0f;
    if (lane == 0) counts[blockIdx.x] = base;
}

extern "C" void run(const float* x, float* kept, int* counts, int64_t rows, int64_t cols, cudaStream_t stream) {
    compact<<<rows, 32, 0, stream>>>(x, kept, counts, cols);
}
