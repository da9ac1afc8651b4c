// Every thread writes down what the built-in variables tell it.
#include <cstdint>

constexpr int FIELDS = 11;

__device__ unsigned linear_thread() {
    return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
}

__device__ unsigned linear_block() {
    return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
}

__global__ void describe(int* out) {
    const uint3 thread = threadIdx;
    const uint3 block = blockIdx;
    const dim3 threads = blockDim;
    const dim3 blocks = gridDim;
    const unsigned rank = linear_thread();
    int* mine = out + (linear_block() * threads.x * threads.y * threads.z + rank) * FIELDS;
    mine[0] = block.x;
    mine[1] = block.y;
    mine[2] = block.z;
    mine[3] = thread.x;
    mine[4] = thread.y;
    mine[5] = thread.z;
    mine[6] = blocks.x * 100 + blocks.y * 10 + blocks.z;
    mine[7] = threads.x * 100 + threads.y * 10 + threads.z;
    mine[8] = rank % warpSize;
    mine[9] = rank / warpSize;
    mine[10] = warpSize;
}

extern "C" void run(int* out, cudaStream_t stream) {
    describe<<<dim3(2, 3, 2), dim3(5, 3, 4), 0, stream>>>(out);
}
