// Escape times in double precision: threads of a warp leave the loop at different turns.
#include <cstdint>

__global__ void mandelbrot(int* counts, int width, int height, int limit) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x;
    const int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    const double cx = -2.0 + px * 0.0625, cy = -1.0 + py * 0.0625;
    double x = 0.0, y = 0.0;
    int count = 0;
    while (count < limit) {
        const double xx = __dmul_rn(x, x), yy = __dmul_rn(y, y);
        if (__dadd_rn(xx, yy) > 4.0) break;
        const double xy = __dmul_rn(x, y);
        x = __dadd_rn(__dsub_rn(xx, yy), cx);
        y = __dadd_rn(__dadd_rn(xy, xy), cy);
        ++count;
    }
    counts[py * width + px] = count;
}

extern "C" void run(int* counts, int64_t width, int64_t height, int64_t limit, cudaStream_t stream) {
    mandelbrot<<<dim3((width + 15) / 16, (height + 3) / 4), dim3(16, 4), 0, stream>>>(counts, width, height, limit);
}
