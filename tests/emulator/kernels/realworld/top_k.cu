// The k largest of each row: k rounds of a block-wide argmax, each of which takes its winner out of the race.
#include <cstdint>

template <int THREADS>
__global__ void top_k(const float* x, float* values, int64_t* indices, int cols, int k) {
    extern __shared__ float row[];
    __shared__ float best_value[THREADS];
    __shared__ int best_index[THREADS];
    const int t = threadIdx.x;
    for (int c = t; c < cols; c += THREADS) row[c] = x[blockIdx.x * cols + c];
    __syncthreads();
    for (int round = 0; round < k; ++round) {
        float value = -INFINITY;
        int index = cols;
        for (int c = t; c < cols; c += THREADS) {
            if (row[c] > value) {
                value = row[c];
                index = c;
            }
        }
        best_value[t] = value;
        best_index[t] = index;
        __syncthreads();
        for (int half = THREADS / 2; half > 0; half /= 2) {
            if (t < half) {
                const float other = best_value[t + half];
                const int other_index = best_index[t + half];
                if (other > best_value[t] || (other == best_value[t] && other_index < best_index[t])) {
                    best_value[t] = other;
                    best_index[t] = other_index;
                }
            }
            __syncthreads();
        }
        if (t == 0) {
            values[blockIdx.x * k + round] = best_value[0];
            indices[blockIdx.x * k + round] = best_index[0];
            row[best_index[0]] = -INFINITY;
        }
        __syncthreads();
    }
}

extern "C" void run(const float* x, float* values, int64_t* indices, int64_t rows, int64_t cols, int64_t k,
                    cudaStream_t stream) {
    top_k<64><<<rows, 64, cols * sizeof(float), stream>>>(x, values, indices, cols, k);
}
