// As mma_half, in bfloat16 and with B in rows of n: ldmatrix transposes on the way.
#include <cstdint>
#include <cuda_bf16.h>

__global__ void matmul(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n, int k) {
    __shared__ __align__(16) __nv_bfloat16 tile_a[16 * 16];
    __shared__ __align__(16) __nv_bfloat16 tile_b[16 * 8];
    const int lane = threadIdx.x % 32;
    const int row = blockIdx.y * 16, col = blockIdx.x * 8;
    float d0 = 0.f, d1 = 0.f, d2 = 0.f, d3 = 0.f;
    for (int step = 0; step < k; step += 16) {
        for (int e = lane; e < 256; e += 32) tile_a[e] = a[(row + e / 16) * k + step + e % 16];
        for (int e = lane; e < 128; e += 32) tile_b[e] = b[(step + e / 8) * n + col + e % 8];
        __syncwarp();
        unsigned a0, a1, a2, a3, b0, b1;
        unsigned where = __cvta_generic_to_shared(tile_a + lane % 16 * 16 + lane / 16 * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
                     : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3)
                     : "r"(where));
        where = __cvta_generic_to_shared(tile_b + lane % 16 * 8);
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];\n"
                     : "=r"(b0), "=r"(b1)
                     : "r"(where));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
                     "{%10,%11,%12,%13};\n"
                     : "=f"(d0), "=f"(d1), "=f"(d2), "=f"(d3)
                     : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "f"(d0), "f"(d1), "f"(d2), "f"(d3));
        __syncwarp();
    }
    const int r = row + lane / 4, q = col + lane % 4 * 2;
    c[r * n + q] = d0;
    c[r * n + q + 1] = d1;
    c[(r + 8) * n + q] = d2;
    c[(r + 8) * n + q + 1] = d3;
}

extern "C" void run(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int64_t m, int64_t n, int64_t k,
                    cudaStream_t stream) {
    matmul<<<dim3(n / 8, m / 16), 32, 0, stream>>>(a, b, c, n, k);
}
