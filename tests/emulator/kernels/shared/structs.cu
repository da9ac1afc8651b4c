// Weighted centre of each row's points, accumulated in structs that live in shared memory.
#include <cstdint>

struct Moments {
    float weight;
    float2 sum;

    __device__ void merge(const Moments& other) {
        weight += other.weight;
        sum.x += other.sum.x;
        sum.y += other.sum.y;
    }
};

__global__ void centres(const float* points, float* out, int count) {
    __shared__ Moments moments[48];
    Moments mine{0.0f, {0.0f, 0.0f}};
    for (int p = threadIdx.x; p < count; p += blockDim.x) {
        const float* point = points + (blockIdx.x * count + p) * 3;
        mine.merge({point[2], make_float2(point[0] * point[2], point[1] * point[2])});
    }
    moments[threadIdx.x] = mine;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int t = 1; t < blockDim.x; ++t) moments[0].merge(moments[t]);
        out[2 * blockIdx.x] = moments[0].sum.x / moments[0].weight;
        out[2 * blockIdx.x + 1] = moments[0].sum.y / moments[0].weight;
    }
}

extern "C" void run(const float* points, float* out, int64_t rows, int64_t count, cudaStream_t stream) {
    centres<<<rows, 48, 0, stream>>>(points, out, count);
}
