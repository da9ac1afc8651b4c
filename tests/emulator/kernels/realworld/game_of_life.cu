// Several generations on a torus, double-buffered.
#include <cstdint>

__global__ void generation(const uint8_t* __restrict__ now, uint8_t* __restrict__ next, int height, int width) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int neighbours = 0;
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy) {
#pragma unroll
        for (int dx = -1; dx <= 1; ++dx) {
            if (dx == 0 && dy == 0) continue;
            neighbours += now[(y + dy + height) % height * width + (x + dx + width) % width];
        }
    }
    next[y * width + x] = neighbours == 3 || (neighbours == 2 && now[y * width + x]);
}

extern "C" void run(const uint8_t* start, uint8_t* result, int64_t height, int64_t width, int64_t generations,
                    cudaStream_t stream) {
    uint8_t* scratch[2] = {nullptr, nullptr};
    for (auto& s : scratch) cudaMalloc(&s, height * width);
    const dim3 block(16, 8), grid((width + 15) / 16, (height + 7) / 8);
    const uint8_t* from = start;
    for (int64_t g = 0; g < generations; ++g) {
        uint8_t* to = g + 1 == generations ? result : scratch[g % 2];
        generation<<<grid, block, 0, stream>>>(from, to, height, width);
        from = to;
    }
    cudaStreamSynchronize(stream);
    for (auto s : scratch) cudaFree(s);
}
