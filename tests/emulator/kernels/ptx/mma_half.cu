// C = A B^T on tensor cores: ldmatrix loads fragments from shared memory for mma.m16n8k16.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int PITCH = 24;  // halves; keeps rows 16-byte aligned and free of bank conflicts

__device__ __forceinline__ uint32_t shared_address(const void* pointer) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(pointer));
}

__global__ void matmul(const __half* a, const __half* b, float* c, int n, int k) {
    __shared__ __align__(16) __half tile_a[16][PITCH];
    __shared__ __align__(16) __half tile_b[8][PITCH];
    const int lane = threadIdx.x;
    const int row = blockIdx.y * 16;
    const int col = blockIdx.x * 8;
    float d[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    for (int step = 0; step < k; step += 16) {
        *reinterpret_cast<uint4*>(&tile_a[lane / 2][lane % 2 * 8]) =
            *reinterpret_cast<const uint4*>(a + (row + lane / 2) * k + step + lane % 2 * 8);
        if (lane < 16) {
            *reinterpret_cast<uint4*>(&tile_b[lane / 2][lane % 2 * 8]) =
                *reinterpret_cast<const uint4*>(b + (col + lane / 2) * k + step + lane % 2 * 8);
        }
        __syncwarp();

        uint32_t fa[4], fb[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                     : "r"(shared_address(&tile_a[lane % 16][lane / 16 * 8]))
                     : "memory");
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                     : "=r"(fb[0]), "=r"(fb[1])
                     : "r"(shared_address(&tile_b[lane % 8][lane / 8 % 2 * 8]))
                     : "memory");
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
            "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
        __syncwarp();
    }

    const int group = lane / 4;
    const int pair = lane % 4 * 2;
    float* to = c + (row + group) * n + col + pair;
    to[0] = d[0];
    to[1] = d[1];
    to[8 * n] = d[2];
    to[8 * n + 1] = d[3];
}

extern "C" void run(const __half* a, const __half* b, float* c, int64_t m, int64_t n, int64_t k, cudaStream_t stream) {
    matmul<<<dim3(n / 8, m / 16), 32, 0, stream>>>(a, b, c, n, k);
}
