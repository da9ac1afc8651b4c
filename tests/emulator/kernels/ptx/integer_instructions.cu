// lop3, prmt, bit fields, funnel shifts, multiply-add, carry chains, selections.
#include <cstdint>

__global__ void instructions(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned x = a[i], y = b[i], z = c[i];
    unsigned* r = out + 15 * i;
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r[0]) : "r"(x), "r"(y), "r"(z));                  // x ^ y ^ z
    asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(r[1]) : "r"(x), "r"(y), "r"(z), "n"(0xE8));         // majority
    asm("lop3.b32 %0, %1, %2, %3, (0xF0 & 0xCC) | 0xAA;" : "=r"(r[2]) : "r"(x), "r"(y), "r"(z));  // (x & y) | z
    asm("prmt.b32 %0, %1, %2, 0x6420;" : "=r"(r[3]) : "r"(x), "r"(y));
    asm("bfe.u32 %0, %1, 5, 11;" : "=r"(r[4]) : "r"(x));
    asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r[5]) : "r"(x), "r"(7), "r"(9));
    asm("bfi.b32 %0, %1, %2, 8, 12;" : "=r"(r[6]) : "r"(x), "r"(y));
    asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r[7]) : "r"(x), "r"(y), "r"(z & 31));
    asm("mad.lo.u32 %0, %1, %2, %3;" : "=r"(r[8]) : "r"(x), "r"(y), "r"(z));
    asm("mul.hi.u32 %0, %1, %2;" : "=r"(r[9]) : "r"(x), "r"(y));
    asm("add.cc.u32 %0, %2, %3;\n\taddc.u32 %1, %4, %5;"
        : "=&r"(r[10]), "=r"(r[11])
        : "r"(x), "r"(y), "r"(z), "r"(x));
    asm("{\n\t"
        ".reg .pred p;\n\t"
        "setp.lt.u32 p, %1, %2;\n\t"
        "selp.u32 %0, %3, %1, p;\n\t"
        "@p add.u32 %0, %0, 1;\n\t"
        "}"
        : "=r"(r[12])
        : "r"(x), "r"(y), "r"(z));
    asm("popc.b32 %0, %1;" : "=r"(r[13]) : "r"(x));
    asm("min.s32 %0, %1, %2;" : "=r"(r[14]) : "r"(x), "r"(y));
}

extern "C" void run(const uint32_t* a, const uint32_t* b, const uint32_t* c, uint32_t* out, int64_t n,
                    cudaStream_t stream) {
    instructions<<<(n + 31) / 32, 32, 0, stream>>>(a, b, c, out, n);
}
