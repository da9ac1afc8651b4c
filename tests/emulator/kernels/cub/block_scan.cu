// Prefix sums of a row in tiles of four items a thread, with a running prefix.
#include <cstdint>
#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

constexpr int THREADS = 64;
constexpr int ITEMS = 4;

__global__ void scan_rows(const int* in, int* exclusive, int* highest, int cols) {
    using Load = cub::BlockLoad<int, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, THREADS, ITEMS, cub::BLOCK_STORE_DIRECT>;
    using Scan = cub::BlockScan<int, THREADS>;
    __shared__ typename Load::TempStorage load_storage;
    __shared__ typename Store::TempStorage store_storage;
    __shared__ typename Scan::TempStorage scan_storage;

    const int* row = in + blockIdx.x * cols;
    int carry = 0;
    for (int base = 0; base < cols; base += THREADS * ITEMS) {
        const int valid = cols - base < THREADS * ITEMS ? cols - base : THREADS * ITEMS;
        int items[ITEMS], sums[ITEMS];
        Load(load_storage).Load(row + base, items, valid, 0);
        __syncthreads();
        int total;
        Scan(scan_storage).ExclusiveSum(items, sums, total);
        for (int k = 0; k < ITEMS; ++k) sums[k] += carry;
        Store(store_storage).Store(exclusive + blockIdx.x * cols + base, sums, valid);
        carry += total;
        __syncthreads();
    }
    int first = threadIdx.x < cols ? row[threadIdx.x] : -1;
    Scan(scan_storage).InclusiveScan(first, first, [](int a, int b) { return a > b ? a : b; });
    if (threadIdx.x < cols) highest[blockIdx.x * THREADS + threadIdx.x] = first;
}

extern "C" void run(const int* in, int* exclusive, int* highest, int64_t rows, int64_t cols, cudaStream_t stream) {
    scan_rows<<<rows, THREADS, 0, stream>>>(in, exclusive, highest, cols);
}
