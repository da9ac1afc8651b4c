// Two arrays share the dynamic shared memory, but the launch asks for the room of one.
#include <cstdint>

__global__ void softmax(const float* x, float* y, int columns) {
    extern __shared__ float shared[];
    float* values = shared;
    float* exponentials = shared + columns;
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        values[column] = x[blockIdx.x * columns + column];
    }
    __syncthreads();
    float largest = values[0];
    for (int column = 1; column < columns; ++column) {
        largest = fmaxf(largest, values[column]);
    }
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        exponentials[column] = expf(values[column] - largest);  // finding: out_of_bounds_shared
    }
    __syncthreads();
    float sum = 0.0f;
    for (int column = 0; column < columns; ++column) {
        sum += exponentials[column];  // finding: out_of_bounds_shared
    }
    for (int column = threadIdx.x; column < columns; column += blockDim.x) {
        y[blockIdx.x * columns + column] = exponentials[column] / sum;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    const size_t bytes = n * sizeof(float);
#else
    const size_t bytes = 2 * n * sizeof(float);
#endif
    softmax<<<2, 32, bytes, stream>>>(x, y, n);
}
