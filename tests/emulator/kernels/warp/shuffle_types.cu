// Shuffles of 16, 32 and 64 bit values.
#include <cstdint>
#include <cuda_fp16.h>

template <typename T>
__device__ T rotate(T value) {
    return __shfl_sync(0xffffffffu, value, (threadIdx.x + 5) % 32);
}

__global__ void rotate_all(const int64_t* in, double* doubles, int64_t* longs, uint64_t* unsigneds, float* halves,
                           float* pairs, uint32_t* words) {
    const int lane = threadIdx.x;
    const long long value = in[lane];
    doubles[lane] = rotate(static_cast<double>(value) * 0.5);
    longs[lane] = rotate(value) + __shfl_xor_sync(0xffffffffu, value, 1);
    unsigneds[lane] = rotate(static_cast<unsigned long long>(value) * 3ull);
    halves[lane] = __half2float(rotate(__int2half_rn(static_cast<int>(value % 1000))));
    const float2 pair = __half22float2(rotate(__floats2half2_rn(lane, lane + 0.5f)));
    pairs[2 * lane] = pair.x;
    pairs[2 * lane + 1] = pair.y;
    words[lane] = __shfl_down_sync(0xffffffffu, static_cast<unsigned>(value), 1);
}

extern "C" void run(const int64_t* in, double* doubles, int64_t* longs, uint64_t* unsigneds, float* halves,
                    float* pairs, uint32_t* words, cudaStream_t stream) {
    rotate_all<<<1, 32, 0, stream>>>(in, doubles, longs, unsigneds, halves, pairs, words);
}
