// A warp announces its tile to another one by bar.arrive, but stores it afterwards.
#include <cstdint>

__global__ void reverse(const float* x, float* y) {
    __shared__ float tile[32];
    const int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
#ifdef BUG
        asm volatile("bar.arrive 1, 64;" ::: "memory");
        tile[lane] = x[lane];  // finding: race_shared
#else
        tile[lane] = x[lane];
        asm volatile("bar.arrive 1, 64;" ::: "memory");
#endif
    } else {
        asm volatile("bar.sync 1, 64;" ::: "memory");
        y[lane] = tile[31 - lane];  // finding: race_shared
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    reverse<<<1, 64, 0, stream>>>(x, y);
}
