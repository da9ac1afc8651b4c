// A byte buffer aligned for 16-byte vectors: written as float4, read back as floats in another order.
#include <cstdint>

__global__ void rotate_rows(const float4* in, float* out, int vectors, int shift) {
    __shared__ __align__(16) unsigned char buffer[64 * sizeof(float4)];
    float4* packed = reinterpret_cast<float4*>(buffer);
    const float* flat = reinterpret_cast<const float*>(buffer);
    const int cols = vectors * 4;
    if (threadIdx.x < vectors) packed[threadIdx.x] = in[blockIdx.x * vectors + threadIdx.x];
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) out[blockIdx.x * cols + c] = flat[(c + shift) % cols];
}

extern "C" void run(const float* in, float* out, int64_t rows, int64_t cols, int64_t shift, cudaStream_t stream) {
    rotate_rows<<<rows, 64, 0, stream>>>(reinterpret_cast<const float4*>(in), out, cols / 4, shift);
}
