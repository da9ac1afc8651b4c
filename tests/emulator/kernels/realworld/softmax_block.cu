// Softmax with one block a row: maximum, sum and division, reductions in shared memory.
#include <cfloat>
#include <cstdint>

__global__ void softmax_kernel(const float* __restrict__ input, float* __restrict__ output, int dim) {
    extern __shared__ float shared[];
    const int tid = threadIdx.x;
    const float* row_in = input + blockIdx.x * dim;
    float* row_out = output + blockIdx.x * dim;

    float max_val = -FLT_MAX;
    for (int i = tid; i < dim; i += blockDim.x) max_val = fmaxf(max_val, row_in[i]);
    shared[tid] = max_val;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride) shared[tid] = fmaxf(shared[tid], shared[tid + stride]);
        __syncthreads();
    }
    max_val = shared[0];
    __syncthreads();

    float sum = 0.0f;
    for (int i = tid; i < dim; i += blockDim.x) {
        const float e = expf(row_in[i] - max_val);
        row_out[i] = e;
        sum += e;
    }
    shared[tid] = sum;
    __syncthreads();
    for (int stride = blockDim.x / 2; stride > 0; stride >>= 1) {
        if (tid < stride) shared[tid] += shared[tid + stride];
        __syncthreads();
    }
    sum = shared[0];
    for (int i = tid; i < dim; i += blockDim.x) row_out[i] /= sum;
}

extern "C" void run(const float* x, float* y, int64_t rows, int64_t cols, cudaStream_t stream) {
    const int threads = 128;
    softmax_kernel<<<rows, threads, threads * sizeof(float), stream>>>(x, y, cols);
}
