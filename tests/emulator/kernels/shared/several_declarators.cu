// Minimum, maximum and number of positives of every row: several declarators of several shapes in one declaration.
#include <cstdint>
#include <cfloat>

const int N = 64;

__global__ void extremes(const float* x, float* lowest, float* highest, int* positives, int cols) {
    __shared__ float low[N], high[N], *table[2];
    __shared__ int count[N], total;

    const int t = threadIdx.x;
    const float* row = x + blockIdx.x * cols;
    if (t == 0) {
        table[0] = low;
        table[1] = high;
        total = 0;
    }
    low[t] = FLT_MAX;
    high[t] = -FLT_MAX;
    count[t] = 0;
    for (int c = t; c < cols; c += N) {
        low[t] = fminf(low[t], row[c]);
        high[t] = fmaxf(high[t], row[c]);
        count[t] += row[c] > 0.0f;
    }
    __syncthreads();
    for (int half = N / 2; half > 0; half >>= 1) {
        if (t < half) {
            table[0][t] = fminf(table[0][t], table[0][t + half]);
            table[1][t] = fmaxf(table[1][t], table[1][t + half]);
            count[t] += count[t + half];
        }
        __syncthreads();
    }
    if (t == 0) {
        total = count[0];
        lowest[blockIdx.x] = low[0];
        highest[blockIdx.x] = high[0];
        positives[blockIdx.x] = total;
    }
}

extern "C" void run(const float* x, float* lowest, float* highest, int* positives, int64_t rows, int64_t cols,
                    cudaStream_t stream) {
    extremes<<<rows, N, 0, stream>>>(x, lowest, highest, positives, cols);
}
