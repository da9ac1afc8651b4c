// Quantisation to the two 8-bit formats and back.
#include <cstdint>
#include <cuda_fp8.h>

__global__ void quantise(const float* in, uint8_t* e4m3, uint8_t* e5m2, float* back, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __nv_fp8_e4m3 narrow(in[i]);
    const __nv_fp8_e5m2 wide(in[i]);
    e4m3[i] = narrow.__x;
    e5m2[i] = __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E5M2);
    back[2 * i] = static_cast<float>(narrow);
    back[2 * i + 1] = static_cast<float>(wide);
}

extern "C" void run(const float* in, uint8_t* e4m3, uint8_t* e5m2, float* back, int64_t n, cudaStream_t stream) {
    quantise<<<(n + 31) / 32, 32, 0, stream>>>(in, e4m3, e5m2, back, n);
}
