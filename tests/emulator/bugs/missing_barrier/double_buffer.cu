// Sums of tiles with prefetch: the next tile goes into the buffer that is being read instead of into the other one.
#include <cstdint>

constexpr int kTile = 64;

__global__ void tile_sums(const float* x, float* y, int tiles) {
    __shared__ float buffer[2][kTile];
    const int thread = threadIdx.x;
    buffer[0][thread] = x[thread];
    __syncthreads();
    float sum = 0.0f;
    for (int tile = 0; tile < tiles; ++tile) {
#ifdef BUG
        const int next = tile % 2;
#else
        const int next = (tile + 1) % 2;
#endif
        if (tile + 1 < tiles) {
            buffer[next][thread] = x[(tile + 1) * kTile + thread];  // finding: race_shared
        }
        for (int k = 0; k < kTile; ++k) {
            sum += buffer[tile % 2][k] * (thread + k);  // finding: race_shared
        }
        __syncthreads();
    }
    y[thread] = sum;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    tile_sums<<<1, kTile, 0, stream>>>(x, y, n / kTile);
}
