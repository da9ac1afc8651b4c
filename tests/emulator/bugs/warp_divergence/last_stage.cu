// Layer norm: the last stage of a block reduction shuffles with a full mask among as many lanes as there are warps.
#include <cstdint>

__device__ float block_sum(float value, float* partial) {
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int warps = blockDim.x / 32;
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    __syncthreads();
    if (lane == 0) {
        partial[warp] = value;
    }
    __syncthreads();
#ifdef BUG
    if (warp == 0 && lane < warps) {
        value = partial[lane];
#else
    if (warp == 0) {
        value = lane < warps ? partial[lane] : 0.0f;
#endif
        for (int offset = 16; offset > 0; offset /= 2) {
            value += __shfl_down_sync(0xffffffffu, value, offset);  // finding: warp_divergence
        }
        if (lane == 0) {
            partial[0] = value;
        }
    }
    __syncthreads();
    return partial[0];
}

__global__ void layer_norm(const float* x, float* y, int columns) {
    __shared__ float partial[32];
    const float* row = x + blockIdx.x * columns;
    float sum = 0.0f;
    float squares = 0.0f;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        sum += row[column];
        squares += row[column] * row[column];
    }
    const float mean = block_sum(sum, partial) / columns;
    const float variance = block_sum(squares, partial) / columns - mean * mean;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        y[blockIdx.x * columns + column] = (row[column] - mean) * rsqrtf(variance + 1e-5f);
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    layer_norm<<<2, 128, 0, stream>>>(x, y, n);
}
