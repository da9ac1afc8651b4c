// The Philox 4x32-10 counter generator is specified to the bit.
#include <cstdint>
#include <curand_kernel.h>

__global__ void draw(unsigned* words, uint4* quads, float* uniforms, uint64_t seed, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    curandStatePhilox4_32_10_t state;
    curand_init(seed, i, 0, &state);
    for (int k = 0; k < 6; ++k) words[6 * i + k] = curand(&state);

    curandStatePhilox4_32_10_t skipped;
    curand_init(seed, i, 8, &skipped);
    quads[i] = curand4(&skipped);

    const float4 u = curand_uniform4(&skipped);
    uniforms[4 * i] = u.x;
    uniforms[4 * i + 1] = u.y;
    uniforms[4 * i + 2] = u.z;
    uniforms[4 * i + 3] = u.w;
}

extern "C" void run(uint32_t* words, uint32_t* quads, float* uniforms, int64_t seed, int64_t n, cudaStream_t stream) {
    draw<<<(n + 31) / 32, 32, 0, stream>>>(words, reinterpret_cast<uint4*>(quads), uniforms, seed, n);
}
