// The temporary storage of a block reduction is used a second time without a barrier in between.
#include <cub/cub.cuh>

#include <cstdint>

__global__ void sum_and_maximum(const float* x, float* y) {
    using Reduction = cub::BlockReduce<float, 128>;
    __shared__ typename Reduction::TempStorage storage;
    const float value = x[threadIdx.x];
    const float sum = Reduction(storage).Sum(value);  // finding: race_shared
#ifndef BUG
    __syncthreads();
#endif
    const float squares = Reduction(storage).Sum(value * value);  // finding: race_shared
    if (threadIdx.x == 0) {
        y[0] = sum;
        y[1] = squares;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    sum_and_maximum<<<1, 128, 0, stream>>>(x, y);
}
