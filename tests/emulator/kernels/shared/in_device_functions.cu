// A helper that owns its shared memory and is called several times by a kernel that has its own.
#include <cstdint>

__inline__ __device__ float blockReduceMax(float value) {
    static __shared__ float partial[64];
    const int t = threadIdx.x;
    __syncthreads();  // the partial results of the last call may still be in use
    partial[t] = value;
    __syncthreads();
    for (int half = 32; half > 0; half /= 2) {
        if (t < half) partial[t] = fmaxf(partial[t], partial[t + half]);
        __syncthreads();
    }
    return partial[0];
}

__device__ void load(float (&row)[128], const float* from, int cols) {
    for (int c = threadIdx.x; c < cols; c += blockDim.x) row[c] = from[c];
}

// (max, max of -x, max of |x|) of each row
__global__ void ranges(const float* x, float* out, int cols) {
    __shared__ float row[128];
    load(row, x + blockIdx.x * cols, cols);
    __syncthreads();
    float high = -INFINITY, low = -INFINITY;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        high = fmaxf(high, row[c]);
        low = fmaxf(low, -row[c]);
    }
    high = blockReduceMax(high);
    low = blockReduceMax(low);
    const float largest = blockReduceMax(fmaxf(high, low));
    if (threadIdx.x < 3) out[blockIdx.x * 3 + threadIdx.x] = threadIdx.x == 0 ? high : threadIdx.x == 1 ? low : largest;
}

extern "C" void run(const float* x, float* out, int64_t rows, int64_t cols, cudaStream_t stream) {
    ranges<<<rows, 64, 0, stream>>>(x, out, cols);
}
