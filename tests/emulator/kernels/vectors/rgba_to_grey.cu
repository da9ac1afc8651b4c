#include <cstdint>

__global__ void rgba_to_grey(const uchar4* image, unsigned char* grey, int width, int height) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height) {
        uchar4 pixel = image[y * width + x];
        grey[y * width + x] = static_cast<unsigned char>((77 * pixel.x + 150 * pixel.y + 29 * pixel.z) >> 8);
    }
}

extern "C" void run(const uint8_t* image, uint8_t* grey, int64_t width, int64_t height, cudaStream_t stream) {
    dim3 block(32, 4);
    dim3 grid((width + 31) / 32, (height + 3) / 4);
    rgba_to_grey<<<grid, block, 0, stream>>>(reinterpret_cast<const uchar4*>(image), grey, width, height);
}
