// A sum in the five styles of the classic optimisation story. Inputs are small integers: every order is exact.
#include <cstdint>

constexpr int BLOCK = 128;

__global__ void interleaved(const float* in, float* out, int n) {
    __shared__ float s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK + t;
    s[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int stride = 1; stride < BLOCK; stride *= 2) {
        if (t % (2 * stride) == 0) s[t] += s[t + stride];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

__global__ void sequential_first_add(const float* in, float* out, int n) {
    __shared__ float s[BLOCK];
    const int t = threadIdx.x, i = blockIdx.x * BLOCK * 2 + t;
    s[t] = (i < n ? in[i] : 0.0f) + (i + BLOCK < n ? in[i + BLOCK] : 0.0f);
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half >>= 1) {
        if (t < half) s[t] += s[t + half];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

template <int THREADS>
__global__ void unrolled(const float* in, float* out, int n) {
    __shared__ float s[THREADS];
    const int t = threadIdx.x, i = blockIdx.x * THREADS + t;
    s[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    if (THREADS >= 128) {
        if (t < 64) s[t] += s[t + 64];
        __syncthreads();
    }
    if (t < 32) {
        float v = s[t] + s[t + 32];
#pragma unroll
        for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
        if (t == 0) out[blockIdx.x] = v;
    }
}

__global__ void grid_stride(const float4* in, float* out, int vectors) {
    __shared__ float warp_sums[BLOCK / 32];
    float sum = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < vectors; i += gridDim.x * BLOCK) {
        const float4 v = in[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffff, sum, offset);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < BLOCK / 32; ++w) sum += warp_sums[w];
        out[blockIdx.x] = sum;
    }
}

__global__ void atomic_sum(const float* in, float* out, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) sum += in[i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffff, sum, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(out, sum);
}

extern "C" void run(const float* in, float* sums, int64_t n, cudaStream_t stream) {
    const int blocks = (n + BLOCK - 1) / BLOCK;
    float* partial;
    cudaMalloc(&partial, 4 * blocks * sizeof(float));
    interleaved<<<blocks, BLOCK, 0, stream>>>(in, partial, n);
    interleaved<<<1, BLOCK, 0, stream>>>(partial, sums, blocks);
    const int fewer = (blocks + 1) / 2;
    sequential_first_add<<<fewer, BLOCK, 0, stream>>>(in, partial, n);
    sequential_first_add<<<1, BLOCK, 0, stream>>>(partial, sums + 1, fewer);
    unrolled<BLOCK><<<blocks, BLOCK, 0, stream>>>(in, partial, n);
    unrolled<64><<<1, 64, 0, stream>>>(partial, sums + 2, blocks);
    grid_stride<<<4, BLOCK, 0, stream>>>(reinterpret_cast<const float4*>(in), partial, n / 4);
    grid_stride<<<1, BLOCK, 0, stream>>>(reinterpret_cast<const float4*>(partial), sums + 3, 1);
    cudaMemsetAsync(sums + 4, 0, sizeof(float), stream);
    atomic_sum<<<3, BLOCK, 0, stream>>>(in, sums + 4, n);
    cudaStreamSynchronize(stream);
    cudaFree(partial);
}
