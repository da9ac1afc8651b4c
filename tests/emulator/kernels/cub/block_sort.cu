// Sorts rows of 256 keys, and keys with values in descending order.
#include <cstdint>
#include <cub/block/block_radix_sort.cuh>

template <int THREADS, int ITEMS>
__global__ void sort_rows(const int* keys, const float* scores, int* sorted, float* ranked, int* order) {
    using KeySort = cub::BlockRadixSort<int, THREADS, ITEMS>;
    using PairSort = cub::BlockRadixSort<float, THREADS, ITEMS, int>;
    __shared__ union Storage {
        typename KeySort::TempStorage keys;
        typename PairSort::TempStorage pairs;
    } storage;

    const int base = blockIdx.x * THREADS * ITEMS + threadIdx.x * ITEMS;
    int my_keys[ITEMS], indices[ITEMS];
    float my_scores[ITEMS];
    for (int k = 0; k < ITEMS; ++k) {
        my_keys[k] = keys[base + k];
        my_scores[k] = scores[base + k];
        indices[k] = threadIdx.x * ITEMS + k;
    }
    KeySort(storage.keys).Sort(my_keys);
    __syncthreads();
    PairSort(storage.pairs).SortDescending(my_scores, indices);
    for (int k = 0; k < ITEMS; ++k) {
        sorted[base + k] = my_keys[k];
        ranked[base + k] = my_scores[k];
        order[base + k] = indices[k];
    }
}

extern "C" void run(const int* keys, const float* scores, int* sorted, float* ranked, int* order, int64_t rows,
                    cudaStream_t stream) {
    sort_rows<64, 4><<<rows, 64, 0, stream>>>(keys, scores, sorted, ranked, order);
}
