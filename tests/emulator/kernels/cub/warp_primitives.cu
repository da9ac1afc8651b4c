// WarpReduce and WarpScan of whole warps and of eight-thread logical warps.
#include <cstdint>
#include <cub/cub.cuh>

__global__ void warps(const int* in, int* sums, int* highest, int* inclusive, int* small) {
    using Reduce = cub::WarpReduce<int>;
    using Scan = cub::WarpScan<int>;
    using SmallReduce = cub::WarpReduce<int, 8>;
    __shared__ typename Reduce::TempStorage reduce_storage[2];
    __shared__ typename Scan::TempStorage scan_storage[2];
    __shared__ typename SmallReduce::TempStorage small_storage[8];

    const int warp = threadIdx.x / 32;
    const int i = blockIdx.x * 64 + threadIdx.x;
    const int value = in[i];
    const int sum = Reduce(reduce_storage[warp]).Sum(value);
    __syncwarp();
    const int most = Reduce(reduce_storage[warp]).Reduce(value, [](int a, int b) { return a > b ? a : b; });
    if (threadIdx.x % 32 == 0) {
        sums[i / 32] = sum;
        highest[i / 32] = most;
    }
    int scanned;
    Scan(scan_storage[warp]).InclusiveSum(value, scanned);
    inclusive[i] = scanned;
    const int eight = SmallReduce(small_storage[threadIdx.x / 8]).Sum(value);
    if (threadIdx.x % 8 == 0) small[i / 8] = eight;
}

extern "C" void run(const int* in, int* sums, int* highest, int* inclusive, int* small, int64_t n,
                    cudaStream_t stream) {
    warps<<<n / 64, 64, 0, stream>>>(in, sums, highest, inclusive, small);
}
