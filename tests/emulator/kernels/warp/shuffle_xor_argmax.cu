// Butterfly argmax: every lane ends with the row's largest value and the lowest index that has it.
#include <cstdint>

struct Best {
    float value;
    int index;
};

__device__ __forceinline__ Best better(Best a, Best b) {
    if (b.value > a.value || (b.value == a.value && b.index < a.index)) return b;
    return a;
}

__global__ void argmax(const float* x, float* values, int64_t* indices, int cols) {
    const float* row = x + (int64_t)blockIdx.x * cols;
    Best best{-INFINITY, cols};
    for (int c = threadIdx.x; c < cols; c += 32) best = better(best, {row[c], c});
    for (int mask = 16; mask > 0; mask >>= 1) {
        Best other;
        other.value = __shfl_xor_sync(0xffffffff, best.value, mask);
        other.index = __shfl_xor_sync(0xffffffff, best.index, mask);
        best = better(best, other);
    }
    if (threadIdx.x == 7) {
        values[blockIdx.x] = best.value;
        indices[blockIdx.x] = best.index;
    }
}

extern "C" void run(const float* x, float* values, int64_t* indices, int64_t rows, int64_t cols, cudaStream_t stream) {
    argmax<<<rows, 32, 0, stream>>>(x, values, indices, cols);
}
