// Special registers, a named barrier, votes and shuffles as instructions, atomics in shared and global memory.
#include <cstdint>

__device__ __forceinline__ unsigned lane_id() {
    unsigned id;
    asm("mov.u32 %0, %%laneid;" : "=r"(id));
    return id;
}

__global__ void registers(const int* in, unsigned* out, int* total) {
    __shared__ int sum;
    __shared__ int values[96];
    unsigned tid, threads, block, lower, lower_equal;
    asm("mov.u32 %0, %%tid.x;" : "=r"(tid));
    asm("mov.u32 %0, %%ntid.x;" : "=r"(threads));
    asm("mov.u32 %0, %%ctaid.x;" : "=r"(block));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lower));
    asm("mov.u32 %0, %%lanemask_le;" : "=r"(lower_equal));
    const int i = block * threads + tid;
    const int value = in[i];
    if (tid == 0) sum = 0;
    asm volatile("bar.sync 0;" ::: "memory");

    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&sum));
    asm volatile("red.shared.add.s32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
    asm volatile("red.global.add.s32 [%0], %1;" ::"l"(total), "r"(value) : "memory");

    values[tid] = value;
    if (tid < 64) {
        asm volatile("bar.sync 1, 64;" ::: "memory");  // the first two warps only
        out[6 * i + 5] = values[63 - tid];
    } else {
        out[6 * i + 5] = 7;
    }

    unsigned ballot;
    int from_neighbour;
    asm volatile(
        "{ .reg .pred p; setp.gt.s32 p, %1, 50; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "=r"(ballot) : "r"(value));
    asm volatile("shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;" : "=r"(from_neighbour) : "r"(value));
    __syncthreads();
    out[6 * i] = lane_id();
    out[6 * i + 1] = lower;
    out[6 * i + 2] = lower_equal;
    out[6 * i + 3] = ballot;
    out[6 * i + 4] = static_cast<unsigned>(from_neighbour * 1000 + sum);
}

extern "C" void run(const int* in, uint32_t* out, int* total, int64_t n, cudaStream_t stream) {
    cudaMemsetAsync(total, 0, sizeof(int), stream);
    registers<<<n / 96, 96, 0, stream>>>(in, out, total);
}
