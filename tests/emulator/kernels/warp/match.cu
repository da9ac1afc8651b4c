// Groups of equal keys within a warp: size of the group, its lowest lane, and whether all keys agree.
#include <cstdint>

__global__ void match(const int* keys, const int64_t* wide, int* sizes, int* leaders, int* uniform, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int key = keys[i];
    const unsigned peers = __match_any_sync(0xffffffffu, key);
    sizes[i] = __popc(peers);
    const unsigned wide_peers = __match_any_sync(0xffffffffu, static_cast<long long>(wide[i]));
    leaders[i] = __ffs(wide_peers) - 1;
    int same = 0;
    const unsigned agreeing = __match_all_sync(0xffffffffu, key / 64, &same);
    uniform[i] = same ? __popc(agreeing) : -1;
}

extern "C" void run(const int* keys, const int64_t* wide, int* sizes, int* leaders, int* uniform, int64_t n,
                    cudaStream_t stream) {
    match<<<n / 32, 32, 0, stream>>>(keys, wide, sizes, leaders, uniform, n);
}
