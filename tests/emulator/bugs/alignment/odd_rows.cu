// float2 loads from rows of odd length: every second row starts between two vectors.
#include <cstdint>

__global__ void first_pairs(const float* x, float* y, int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        const float* start = x + row * columns;
#ifdef BUG
        const float2 pair = *reinterpret_cast<const float2*>(start);  // finding: misaligned_access
#else
        const float2 pair = make_float2(start[0], start[1]);
#endif
        y[row] = pair.x * pair.y;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    first_pairs<<<1, 32, 0, stream>>>(x, y, 20, n);
}
