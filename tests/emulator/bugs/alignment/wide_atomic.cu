// A 64-bit atomic on a counter that follows a 32-bit one.
#include <cstdint>

__global__ void count(const float* x, float* y, int n) {
    __shared__ __align__(8) unsigned counters[4];
    if (threadIdx.x < 4) {
        counters[threadIdx.x] = 0;
    }
    __syncthreads();
#ifdef BUG
    auto* positive = reinterpret_cast<unsigned long long*>(&counters[1]);
#else
    auto* positive = reinterpret_cast<unsigned long long*>(&counters[2]);
#endif
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (x[i] > 0.0f) {
            atomicAdd(positive, 1ull);  // finding: misaligned_access
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        y[0] = static_cast<float>(*positive);  // finding: misaligned_access
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    count<<<1, 64, 0, stream>>>(x, y, n);
}
