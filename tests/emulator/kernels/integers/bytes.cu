// Byte permutation, dot products of bytes, funnel shifts, and the four-bytes-at-once operations.
#include <cstdint>

__global__ void bytes(const unsigned* a, const unsigned* b, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned x = a[i], y = b[i];
    unsigned* z = out + 14 * i;
    z[0] = __byte_perm(x, y, 0x5410);
    z[1] = __byte_perm(x, y, 0x0123);
    z[2] = __byte_perm(x, y, y & 0x7777);
    z[3] = static_cast<unsigned>(__dp4a(static_cast<int>(x), static_cast<int>(y), 1000));
    z[4] = __dp4a(x, y, 7u);
    z[5] = static_cast<unsigned>(__dp2a_lo(static_cast<int>(x), static_cast<int>(y), -5));
    z[6] = static_cast<unsigned>(__dp2a_hi(static_cast<int>(x), static_cast<int>(y), 5));
    z[7] = __funnelshift_l(x, y, i % 32);
    z[8] = __funnelshift_r(x, y, i % 32);
    z[9] = __funnelshift_lc(x, y, i);  // clamps at 32
    z[10] = __vadd4(x, y);
    z[11] = __vabsdiffu4(x, y);
    z[12] = __vmaxs4(x, y);
    z[13] = __vcmpgtu4(x, y);
}

extern "C" void run(const uint32_t* a, const uint32_t* b, uint32_t* out, int64_t n, cudaStream_t stream) {
    bytes<<<(n + 31) / 32, 32, 0, stream>>>(a, b, out, n);
}
