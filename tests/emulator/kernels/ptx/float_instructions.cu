// Approximate functions, fused multiply-add, packed conversions, minimum that keeps NaN.
#include <cstdint>

__global__ void instructions(const float* a, const float* b, float* out, unsigned* packed, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = a[i], y = b[i];
    float* r = out + 9 * i;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r[0]) : "f"(y));
    asm("lg2.approx.f32 %0, %1;" : "=f"(r[1]) : "f"(x));
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r[2]) : "f"(x));
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(r[3]) : "f"(x));
    asm("sqrt.approx.f32 %0, %1;" : "=f"(r[4]) : "f"(x));
    asm("tanh.approx.f32 %0, %1;" : "=f"(r[5]) : "f"(y));
    asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r[6]) : "f"(x), "f"(y), "f"(1.0f));
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(r[7]) : "f"(x), "f"(i % 5 == 0 ? __int_as_float(0x7fc00000) : y));
    asm("max.f32 %0, %1, %2;" : "=f"(r[8]) : "f"(x), "f"(i % 5 == 0 ? __int_as_float(0x7fc00000) : y));
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed[3 * i]) : "f"(x), "f"(y));
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed[3 * i + 1]) : "f"(x), "f"(y));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(packed[3 * i + 2]) : "f"(x));
    packed[3 * i + 2] &= 0xffffe000u;  // the other bits are unspecified
}

extern "C" void run(const float* a, const float* b, float* out, uint32_t* packed, int64_t n, cudaStream_t stream) {
    instructions<<<(n + 31) / 32, 32, 0, stream>>>(a, b, out, packed, n);
}
