// High halves of products, 24-bit products, absolute differences and averages.
#include <cstdint>

__global__ void products(const int* a, const int* b, const int64_t* wide, int* out, int64_t* longs, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int x = a[i], y = b[i];
    const unsigned ux = static_cast<unsigned>(x), uy = static_cast<unsigned>(y);
    int* z = out + 8 * i;
    z[0] = __mulhi(x, y);
    z[1] = static_cast<int>(__umulhi(ux, uy));
    z[2] = __mul24(x % 4096, y % 2048);
    z[3] = static_cast<int>(__umul24(ux & 0xffff, uy & 0xffff));
    z[4] = static_cast<int>(__sad(x, y, 10u));
    z[5] = static_cast<int>(__usad(ux, uy, 10u));
    z[6] = __hadd(x, y);
    z[7] = static_cast<int>(__urhadd(ux, uy));
    longs[3 * i] = __mul64hi(wide[i], x * 1000003ll);
    longs[3 * i + 1] = static_cast<int64_t>(__umul64hi(static_cast<uint64_t>(wide[i]), 0x9e3779b97f4a7c15ull));
    longs[3 * i + 2] = static_cast<int64_t>(x) * y;
}

extern "C" void run(const int* a, const int* b, const int64_t* wide, int* out, int64_t* longs, int64_t n,
                    cudaStream_t stream) {
    products<<<(n + 31) / 32, 32, 0, stream>>>(a, b, wide, out, longs, n);
}
