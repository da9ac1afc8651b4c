// A negative number has no unsigned value: on x86 it wraps, on a GPU it becomes zero.
#include <cstdint>

__global__ void wrap_angles(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float steps = floorf(x[i] * 64.0f);
#ifdef BUG
        const unsigned phase = static_cast<unsigned>(steps);  // finding: float_conversion
#else
        const unsigned phase = static_cast<int>(steps);
#endif
        y[i] = phase % 256u;
    }
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    wrap_angles<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n);
}
