// CUB's primitives in a block of 128 threads, four items each.
#include <cub/cub.cuh>
#include <cuda/functional>
#include <cuda/std/functional>

constexpr int kThreads = 128, kItems = 4;

struct RunningPrefix {
    int total;
    __device__ int operator()(int aggregate) {
        const int before = total;
        total += aggregate;
        return before;
    }
};

__global__ void reduces(const float* x, float* out) {
    using Reduce = cub::BlockReduce<float, kThreads>;
    using Pair = cub::KeyValuePair<int, float>;
    using ReducePairs = cub::BlockReduce<Pair, kThreads, cub::BLOCK_REDUCE_RAKING>;
    __shared__ typename Reduce::TempStorage storage;
    __shared__ typename ReducePairs::TempStorage pairs;
    const int i = threadIdx.x;
    float results[4], items[kItems];
    for (int item = 0; item < kItems; ++item) items[item] = x[kItems * i + item];
    results[0] = Reduce(storage).Sum(x[i]);
    __syncthreads();
    results[1] = Reduce(storage).Reduce(x[i], [](float a, float b) { return a > b ? a : b; });
    __syncthreads();
    results[2] = Reduce(storage).Sum(x[i], 70);
    __syncthreads();
    results[3] = Reduce(storage).Sum(items);
    const Pair best = ReducePairs(pairs).Reduce(Pair(i, x[i]), cub::ArgMax());
    if (i > 0) return;
    for (int result = 0; result < 4; ++result) out[result] = results[result];
    out[4] = best.key;
    out[5] = best.value;
}

__global__ void scans(const int* x, int* out) {
    using Scan = cub::BlockScan<int, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
    __shared__ typename Scan::TempStorage storage;
    const int i = threadIdx.x;
    int one, aggregate, items[kItems], scanned[kItems];
    for (int item = 0; item < kItems; ++item) items[item] = x[kItems * i + item];
    Scan(storage).ExclusiveSum(x[i], one, aggregate);
    out[i] = one;
    out[128 + i] = aggregate;
    __syncthreads();
    Scan(storage).InclusiveSum(items, scanned);
    for (int item = 0; item < kItems; ++item) out[256 + kItems * i + item] = scanned[item];
    __syncthreads();
    Scan(storage).ExclusiveScan(items, scanned, -5, cuda::maximum<int>());
    for (int item = 0; item < kItems; ++item) out[768 + kItems * i + item] = scanned[item];
    __syncthreads();
    RunningPrefix prefix{100};
    Scan(storage).InclusiveSum(x[i], one, prefix);
    out[1280 + i] = one;
    __syncthreads();
    Scan(storage).ExclusiveSum(x[i], one, prefix);
    out[1408 + i] = one;
}

__global__ void warps(const int* x, int* out) {
    using Reduce = cub::WarpReduce<int>;
    using Scan = cub::WarpScan<int, 16>;
    __shared__ typename Reduce::TempStorage reduce_storage[kThreads / 32];
    __shared__ typename Scan::TempStorage scan_storage[kThreads / 16];
    const int i = threadIdx.x;
    const int total = Reduce(reduce_storage[i / 32]).Sum(x[i]);
    const int part = Reduce(reduce_storage[i / 32]).Sum(x[i], 17);
    if (i % 32 == 0) out[i / 32] = total;
    if (i % 32 == 0) out[4 + i / 32] = part;
    int scanned;
    Scan(scan_storage[i / 16]).InclusiveSum(x[i], scanned);
    out[128 + i] = scanned;
    Scan(scan_storage[i / 16]).ExclusiveScan(x[i], scanned, -3, cuda::maximum<int>());
    out[256 + i] = scanned;
    out[384 + i] = cub::ShuffleIndex<32>(x[i], 5, 0xffffffff);
}

__global__ void loads(const int* x, int* out) {
    using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
    using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_VECTORIZE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
    } storage;
    int items[kItems];
    Load(storage.load).Load(x, items, 500, -7);
    for (int item = 0; item < kItems; ++item) items[item] = 1000 * threadIdx.x + items[item];
    __syncthreads();
    Store(storage.store).Store(out, items, 510);
}

__global__ void sorts(const float* x, float* keys_out, int* values_out) {
    using Sort = cub::BlockRadixSort<float, kThreads, kItems, int>;
    __shared__ typename Sort::TempStorage storage;
    float keys[kItems];
    int values[kItems];
    for (int item = 0; item < kItems; ++item) {
        values[item] = kItems * threadIdx.x + item;
        keys[item] = x[values[item]];
    }
    Sort(storage).SortDescending(keys, values);
    for (int item = 0; item < kItems; ++item) keys_out[kItems * threadIdx.x + item] = keys[item];
    for (int item = 0; item < kItems; ++item) values_out[kItems * threadIdx.x + item] = values[item];
    __syncthreads();
    Sort(storage).SortBlockedToStriped(keys, values);
    for (int item = 0; item < kItems; ++item) keys_out[512 + kThreads * item + threadIdx.x] = keys[item];
}

__global__ void counts(const int* x, unsigned* histogram_out, int* heads_out) {
    using Histogram = cub::BlockHistogram<unsigned char, kThreads, kItems, 16>;
    using Discontinuity = cub::BlockDiscontinuity<int, kThreads>;
    __shared__ typename Histogram::TempStorage histogram_storage;
    __shared__ typename Discontinuity::TempStorage discontinuity_storage;
    __shared__ unsigned histogram[16];
    unsigned char samples[kItems];
    int items[kItems], heads[kItems];
    for (int item = 0; item < kItems; ++item) {
        samples[item] = x[kItems * threadIdx.x + item] & 15;
        items[item] = (kItems * threadIdx.x + item) / 3;
    }
    Histogram(histogram_storage).Histogram(samples, histogram);
    __syncthreads();
    if (threadIdx.x < 16) histogram_out[threadIdx.x] = histogram[threadIdx.x];
    Discontinuity(discontinuity_storage).FlagHeads(heads, items, cuda::std::not_equal_to<int>());
    for (int item = 0; item < kItems; ++item) heads_out[kItems * threadIdx.x + item] = heads[item];
}

// Each uses one storage twice, and forgets the barrier between.
__global__ void reduces_twice(const float* x, float* out) {
    using Reduce = cub::BlockReduce<float, kThreads>;
    __shared__ typename Reduce::TempStorage storage;
    const float sum = Reduce(storage).Sum(x[threadIdx.x]);
    const float square = Reduce(storage).Sum(x[threadIdx.x] * x[threadIdx.x]);  // reduces twice
    if (threadIdx.x == 0) *out = sum + square;
}

__global__ void scans_twice(const float* x, float* out) {
    using Scan = cub::BlockScan<float, kThreads>;
    __shared__ typename Scan::TempStorage storage;
    float once, twice;
    Scan(storage).InclusiveSum(x[threadIdx.x], once);
    Scan(storage).InclusiveSum(once, twice);  // scans twice
    out[threadIdx.x] = twice;
}

__global__ void sorts_twice(const float* x, float* out) {
    using Sort = cub::BlockRadixSort<float, kThreads, 1>;
    __shared__ typename Sort::TempStorage storage;
    float key[1] = {x[threadIdx.x]};
    Sort(storage).Sort(key);
    Sort(storage).SortDescending(key);  // sorts twice
    out[threadIdx.x] = key[0];
}

__global__ void loads_twice(const float* x, float* out) {
    using Load = cub::BlockLoad<float, kThreads, 2, cub::BLOCK_LOAD_TRANSPOSE>;
    __shared__ typename Load::TempStorage storage;
    float first[2], second[2];
    Load(storage).Load(x, first);
    Load(storage).Load(x + 256, second);  // loads twice
    out[threadIdx.x] = first[0] + first[1] + second[0] + second[1];
}

template <class Call>
void call_in_two_phases(Call call) {
    size_t bytes = 0;
    call(nullptr, bytes);
    void* storage = nullptr;
    cudaMalloc(&storage, bytes);
    call(storage, bytes);
    cudaFree(storage);
}

extern "C" void run_device(const float* x, const int* keys, float* out, int* sorted, int* scanned) {
    call_in_two_phases([&](void* s, size_t& bytes) { cub::DeviceReduce::Sum(s, bytes, x, out, 512); });
    call_in_two_phases([&](void* s, size_t& bytes) { cub::DeviceReduce::Min(s, bytes, x, out + 1, 512); });
    call_in_two_phases([&](void* s, size_t& bytes) { cub::DeviceRadixSort::SortKeys(s, bytes, keys, sorted, 512); });
    call_in_two_phases([&](void* s, size_t& bytes) { cub::DeviceScan::ExclusiveSum(s, bytes, keys, scanned, 512); });
}
extern "C" void run_reduces(const float* x, float* out) { reduces<<<1, kThreads>>>(x, out); }
extern "C" void run_scans(const int* x, int* out) { scans<<<1, kThreads>>>(x, out); }
extern "C" void run_warps(const int* x, int* out) { warps<<<1, kThreads>>>(x, out); }
extern "C" void run_loads(const int* x, int* out) { loads<<<1, kThreads>>>(x, out); }
extern "C" void run_sorts(const float* x, float* keys, int* values) { sorts<<<1, kThreads>>>(x, keys, values); }
extern "C" void run_counts(const int* x, unsigned* bins, int* heads) { counts<<<1, kThreads>>>(x, bins, heads); }
extern "C" void run_reduces_twice(const float* x, float* out) { reduces_twice<<<1, kThreads>>>(x, out); }
extern "C" void run_scans_twice(const float* x, float* out) { scans_twice<<<1, kThreads>>>(x, out); }
extern "C" void run_sorts_twice(const float* x, float* out) { sorts_twice<<<1, kThreads>>>(x, out); }
extern "C" void run_loads_twice(const float* x, float* out) { loads_twice<<<1, kThreads>>>(x, out); }
