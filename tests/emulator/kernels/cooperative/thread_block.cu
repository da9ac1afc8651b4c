// The whole block as a group: ranks, sizes, sync.
#include <cooperative_groups.h>
#include <cstdint>

namespace cg = cooperative_groups;

__device__ int sum(const cg::thread_group& group, int* values, int value) {
    const int rank = group.thread_rank();
    values[rank] = value;
    group.sync();
    int total = 0;
    for (int i = 0; i < static_cast<int>(group.size()); ++i) total += values[i];
    return total;
}

__global__ void describe(const int* in, int* out) {
    __shared__ int values[60];
    cg::thread_block block = cg::this_thread_block();
    const int threads = block.size();
    const int index = block.group_index().y * gridDim.x + block.group_index().x;
    const int total = sum(block, values, in[index * threads + block.thread_rank()]);
    int* mine = out + (index * threads + block.thread_rank()) * 6;
    mine[0] = total;
    mine[1] = block.thread_rank();
    mine[2] = block.thread_index().x * 100 + block.thread_index().y * 10 + block.thread_index().z;
    mine[3] = block.dim_threads().x * 100 + block.dim_threads().y * 10 + block.dim_threads().z;
    mine[4] = block.num_threads();
    cg::sync(block);
    mine[5] = values[(block.thread_rank() + 1) % block.size()];
}

extern "C" void run(const int* in, int* out, cudaStream_t stream) {
    describe<<<dim3(2, 3), dim3(5, 6, 2), 0, stream>>>(in, out);
}
