// Float to integer in every direction: saturating, and 0 or the minimum for NaN. Integers to float. Bits.
#include <cstdint>

__global__ void convert(const float* in, int* ints, int64_t* longs, float* floats, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = in[i];
    int* k = ints + 10 * i;
    k[0] = __float2int_rn(x);
    k[1] = __float2int_rz(x);
    k[2] = __float2int_ru(x);
    k[3] = __float2int_rd(x);
    k[4] = static_cast<int>(__float2uint_rn(x));
    k[5] = static_cast<int>(__float2uint_rz(x));
    k[6] = __double2int_rn(static_cast<double>(x) * 0.5);
    k[7] = __float_as_int(x);
    k[8] = static_cast<int>(__float_as_uint(x) >> 23);
    k[9] = __double2hiint(static_cast<double>(x));

    int64_t* w = longs + 3 * i;
    w[0] = __float2ll_rn(x);
    w[1] = __double2ll_rz(static_cast<double>(x) * 1.5);
    w[2] = __double_as_longlong(static_cast<double>(x));

    const int integer = k[7] >> 1;
    float* f = floats + 7 * i;
    f[0] = __int2float_rn(integer);
    f[1] = __int2float_rz(integer);
    f[2] = __int2float_ru(integer);
    f[3] = __uint2float_rd(static_cast<unsigned>(integer));
    f[4] = __ll2float_rn(integer * 12345ll);
    f[5] = __double2float_rz(integer * 1.0000001);
    f[6] = __int_as_float(k[7] ^ 0x80000000);
}

extern "C" void run(const float* in, int* ints, int64_t* longs, float* floats, int64_t n, cudaStream_t stream) {
    convert<<<(n + 31) / 32, 32, 0, stream>>>(in, ints, longs, floats, n);
}
