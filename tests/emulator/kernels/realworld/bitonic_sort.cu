// Bitonic sort of rows, padded to a power of two, keys with their original positions.
#include <climits>
#include <cstdint>

__global__ void bitonic_sort(const int* in, int* keys, int* positions, int cols, int padded) {
    extern __shared__ int2 pairs[];
    for (int e = threadIdx.x; e < padded; e += blockDim.x) {
        pairs[e] = make_int2(e < cols ? in[blockIdx.x * cols + e] : INT_MAX, e);
    }
    __syncthreads();
    for (int size = 2; size <= padded; size <<= 1) {
        for (int stride = size >> 1; stride > 0; stride >>= 1) {
            for (int e = threadIdx.x; e < padded / 2; e += blockDim.x) {
                const int low = 2 * e - (e & (stride - 1));
                const int high = low + stride;
                const bool ascending = (low & size) == 0;
                const int2 a = pairs[low], b = pairs[high];
                const bool wrong = a.x > b.x || (a.x == b.x && a.y > b.y);
                if (wrong == ascending) {
                    pairs[low] = b;
                    pairs[high] = a;
                }
            }
            __syncthreads();
        }
    }
    for (int e = threadIdx.x; e < cols; e += blockDim.x) {
        keys[blockIdx.x * cols + e] = pairs[e].x;
        positions[blockIdx.x * cols + e] = pairs[e].y;
    }
}

extern "C" void run(const int* in, int* keys, int* positions, int64_t rows, int64_t cols, cudaStream_t stream) {
    int padded = 1;
    while (padded < cols) padded *= 2;
    bitonic_sort<<<rows, 64, padded * sizeof(int2), stream>>>(in, keys, positions, cols, padded);
}
