// Seven-point Laplacian that marches along z with three planes in registers.
#include <cstdint>

__global__ void laplacian(const float* __restrict__ u, float* __restrict__ out, int nz, int ny, int nx) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= nx || y >= ny) return;
    const int plane = ny * nx;
    const int at = y * nx + x;
    const bool inner = x > 0 && x < nx - 1 && y > 0 && y < ny - 1;
    float below = 0.0f, here = u[at], above = nz > 1 ? u[at + plane] : 0.0f;
    for (int z = 0; z < nz; ++z) {
        const float* level = u + z * plane + at;
        float value = 0.0f;
        if (inner && z > 0 && z < nz - 1) {
            value = below + above + level[-1] + level[1] + level[-nx] + level[nx] - 6.0f * here;
        }
        out[z * plane + at] = value;
        below = here;
        here = above;
        if (z + 2 < nz) above = level[2 * plane];
    }
}

extern "C" void run(const float* u, float* out, int64_t nz, int64_t ny, int64_t nx, cudaStream_t stream) {
    laplacian<<<dim3((nx + 15) / 16, (ny + 3) / 4), dim3(16, 4), 0, stream>>>(u, out, nz, ny, nx);
}
