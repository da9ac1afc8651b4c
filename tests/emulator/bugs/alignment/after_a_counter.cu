// Vectors follow a counter in dynamic shared memory, four bytes after an aligned address.
#include <cstdint>

__global__ void reverse_vectors(const float* x, float* y) {
    extern __shared__ __align__(16) unsigned char shared[];
    int* count = reinterpret_cast<int*>(shared);
#ifdef BUG
    float4* vectors = reinterpret_cast<float4*>(shared + sizeof(int));
#else
    float4* vectors = reinterpret_cast<float4*>(shared + sizeof(float4));
#endif
    if (threadIdx.x == 0) {
        *count = blockDim.x;
    }
    vectors[threadIdx.x] = reinterpret_cast<const float4*>(x)[threadIdx.x];  // finding: misaligned_access
    __syncthreads();
    const float4 mirrored = vectors[*count - 1 - threadIdx.x];  // finding: misaligned_access
    reinterpret_cast<float4*>(y)[threadIdx.x] = mirrored;
}

extern "C" void run(const float* x, float* y, int64_t n, cudaStream_t stream) {
    const int vectors = n / 4;
    reverse_vectors<<<1, vectors, (vectors + 1) * sizeof(float4), stream>>>(x, y);
}
