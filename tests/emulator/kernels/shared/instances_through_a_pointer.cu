// Two instances with 32 and 24 KiB of static shared memory, each within the limit, launched through one pointer.
#include <cstdint>

template <int LENGTH>
__global__ void reverse_piece(const int* x, int* y) {
    __shared__ int piece[LENGTH];
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x) piece[i] = x[i];
    __syncthreads();
    for (int i = threadIdx.x; i < LENGTH; i += blockDim.x) y[i] = piece[LENGTH - 1 - i];
}

extern "C" void run(const int* x, int* y, cudaStream_t stream) {
    const int lengths[] = {8192, 6144};
    for (int length : lengths) {
        const auto kernel = length == 8192 ? reverse_piece<8192> : reverse_piece<6144>;
        kernel<<<1, 256, 0, stream>>>(x, y);
        x += length;
        y += length;
    }
}
