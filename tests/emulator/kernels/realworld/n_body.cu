// Gravitational accelerations of all pairs, bodies in shared tiles of float4; then one leapfrog step.
#include <cstdint>

#define TILE 32
#define SOFTENING 0.1f

__device__ float3 interaction(float4 a, float4 b, float3 acceleration) {
    float3 r = make_float3(b.x - a.x, b.y - a.y, b.z - a.z);
    float squared = r.x * r.x + r.y * r.y + r.z * r.z + SOFTENING;
    float inverse = rsqrtf(squared);
    float s = b.w * inverse * inverse * inverse;
    acceleration.x += r.x * s;
    acceleration.y += r.y * s;
    acceleration.z += r.z * s;
    return acceleration;
}

__global__ void step(const float4* bodies, const float4* velocities, float4* moved, int n, float dt) {
    __shared__ float4 tile[TILE];
    const int i = blockIdx.x * TILE + threadIdx.x;
    const float4 mine = i < n ? bodies[i] : make_float4(0.f, 0.f, 0.f, 0.f);
    float3 acceleration = {0.0f, 0.0f, 0.0f};
    for (int start = 0; start < n; start += TILE) {
        const int j = start + threadIdx.x;
        tile[threadIdx.x] = j < n ? bodies[j] : make_float4(0.f, 0.f, 0.f, 0.f);
        __syncthreads();
#pragma unroll 4
        for (int k = 0; k < TILE; ++k) acceleration = interaction(mine, tile[k], acceleration);
        __syncthreads();
    }
    if (i < n) {
        const float4 v = velocities[i];
        moved[i] = make_float4(mine.x + dt * (v.x + dt * acceleration.x), mine.y + dt * (v.y + dt * acceleration.y),
                               mine.z + dt * (v.z + dt * acceleration.z), mine.w);
    }
}

extern "C" void run(const float* bodies, const float* velocities, float* moved, int64_t n, cudaStream_t stream) {
    const int blocks = (n + TILE - 1) / TILE;
    step<<<blocks, TILE, 0, stream>>>((const float4*)bodies, (const float4*)velocities, (float4*)moved, n, 0.25f);
}
