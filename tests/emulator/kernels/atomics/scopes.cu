// Block- and system-scoped forms, on shared and on global memory.
#include <cstdint>

__global__ void scoped(const int* in, int* per_block, unsigned long long* total, float* largest, int n) {
    __shared__ int sum;
    __shared__ unsigned int seen;
    if (threadIdx.x == 0) {
        sum = 0;
        seen = 0;
    }
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicAdd_block(&sum, in[i]);
        atomicOr_block(&seen, 1u << (in[i] & 31));
        atomicMax_block(&per_block[3 * blockIdx.x + 2], in[i]);
        atomicAdd_system(total, static_cast<unsigned long long>(in[i]));
        atomicAdd_system(largest, 1.0f);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicExch_block(&per_block[3 * blockIdx.x], sum);
        atomicCAS_system(&per_block[3 * blockIdx.x + 1], 0, static_cast<int>(seen & 0xffffu));
    }
}

extern "C" void run(const int* in, int* per_block, uint64_t* total, float* largest, int64_t n, cudaStream_t stream) {
    const int blocks = static_cast<int>((n + 47) / 48);
    cudaMemsetAsync(per_block, 0, 3 * blocks * sizeof(int), stream);
    cudaMemsetAsync(total, 0, sizeof(uint64_t), stream);
    cudaMemsetAsync(largest, 0, sizeof(float), stream);
    scoped<<<blocks, 48, 0, stream>>>(in, per_block, reinterpret_cast<unsigned long long*>(total), largest, n);
}
