// (D, H, W) -> (W, D, H) with one thread per element of a three-dimensional grid.
#include <cstdint>

__global__ void permute_kernel(const int* in, int* out, int D, int H, int W) {
    const int w = blockIdx.x * blockDim.x + threadIdx.x;
    const int h = blockIdx.y * blockDim.y + threadIdx.y;
    const int d = blockIdx.z * blockDim.z + threadIdx.z;
    if (d < D && h < H && w < W) {
        out[(w * D + d) * H + h] = in[(d * H + h) * W + w];
    }
}

extern "C" void run(const int* in, int* out, int64_t D, int64_t H, int64_t W, cudaStream_t stream) {
    const dim3 block{8, 4, 2};
    const dim3 grid{static_cast<unsigned>((W + 7) / 8), static_cast<unsigned>((H + 3) / 4),
                    static_cast<unsigned>((D + 1) / 2)};
    permute_kernel<<<grid, block, 0, stream>>>(in, out, D, H, W);
}
