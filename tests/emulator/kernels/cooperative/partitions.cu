// Groups by predicate and by label, and partitions whose size is known at run time only.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdint>

namespace cg = cooperative_groups;

__global__ void partitions(const int* in, int* out) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int value = in[i];

    cg::coalesced_group same_parity = cg::binary_partition(warp, value % 2 == 0);
    out[i * 4] = same_parity.size() * 100 + same_parity.thread_rank();
    warp.sync();
    cg::coalesced_group same_label = cg::labeled_partition(warp, value % 5);
    out[i * 4 + 1] = same_label.size() * 100 + same_label.thread_rank();
    out[i * 4 + 2] = cg::reduce(same_label, value, cg::plus<int>());
    warp.sync();

    cg::thread_group eight = cg::tiled_partition(block, 8);
    out[i * 4 + 3] = eight.size() * 100 + eight.thread_rank();
    eight.sync();
}

extern "C" void run(const int* in, int* out, int64_t n, cudaStream_t stream) {
    partitions<<<n / 64, 64, 0, stream>>>(in, out);
}
