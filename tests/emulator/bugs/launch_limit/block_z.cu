// A block can be 64 threads deep, not 128.
#include <cstdint>

__global__ void add_planes(const float* x, float* y, int planes) {
    const int plane = blockIdx.z * blockDim.z + threadIdx.z;
    if (plane < planes) {
        y[plane] = x[2 * plane] - x[2 * plane + 1];
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
#ifdef BUG
    const int depth = 128;
#else
    const int depth = 64;
#endif
    const dim3 blocks(1, 1, (n + depth - 1) / depth);
    add_planes<<<blocks, dim3(1, 1, depth), 0, stream>>>(x, y, n);  // finding: launch_limit
}
