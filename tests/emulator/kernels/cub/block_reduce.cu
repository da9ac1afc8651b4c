#include <cstdint>
#include <cub/cub.cuh>

struct MaxAbs {
    __device__ float operator()(float a, float b) const { return fabsf(a) > fabsf(b) ? a : b; }
};

template <int BLOCK_THREADS>
__global__ void reduce_rows(const float* x, float* sums, float* extremes, int* counts, int cols) {
    using FloatReduce = cub::BlockReduce<float, BLOCK_THREADS>;
    typedef cub::BlockReduce<int, BLOCK_THREADS> IntReduce;
    __shared__ union {
        typename FloatReduce::TempStorage floats;
        typename IntReduce::TempStorage ints;
    } storage;
    const float* row = x + blockIdx.x * cols;
    float sum = 0.0f, extreme = 0.0f;
    int count = 0;
    for (int c = threadIdx.x; c < cols; c += BLOCK_THREADS) {
        sum += row[c];
        extreme = MaxAbs()(extreme, row[c]);
        count += row[c] > 0.0f;
    }
    sum = FloatReduce(storage.floats).Sum(sum);
    __syncthreads();
    extreme = FloatReduce(storage.floats).Reduce(extreme, MaxAbs());
    __syncthreads();
    count = IntReduce(storage.ints).Sum(count);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        extremes[blockIdx.x] = extreme;
        counts[blockIdx.x] = count;
    }
}

extern "C" void run(const float* x, float* sums, float* extremes, int* counts, int64_t rows, int64_t cols,
                    cudaStream_t stream) {
    reduce_rows<96><<<rows, 96, 0, stream>>>(x, sums, extremes, counts, cols);
}
