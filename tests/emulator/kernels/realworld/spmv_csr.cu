// Sparse matrix times vector in CSR: a thread per row, and eight threads per row.
#include <cstdint>

__global__ void spmv_scalar(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                            int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int e = offsets[row]; e < offsets[row + 1]; ++e) sum += values[e] * x[columns[e]];
    y[row] = sum;
}

template <int LANES>
__global__ void spmv_vector(const int* offsets, const int* columns, const float* values, const float* x, float* y,
                            int rows) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = thread / LANES, lane = thread % LANES;
    float sum = 0.0f;
    if (row < rows) {
        for (int e = offsets[row] + lane; e < offsets[row + 1]; e += LANES) sum += values[e] * x[columns[e]];
    }
#pragma unroll
    for (int delta = LANES / 2; delta > 0; delta /= 2) sum += __shfl_down_sync(0xffffffffu, sum, delta, LANES);
    if (row < rows && lane == 0) y[row] = sum;
}

extern "C" void run(const int* offsets, const int* columns, const float* values, const float* x, float* scalar,
                    float* vector, int64_t rows, cudaStream_t stream) {
    spmv_scalar<<<(rows + 31) / 32, 32, 0, stream>>>(offsets, columns, values, x, scalar, rows);
    spmv_vector<8><<<(rows * 8 + 63) / 64, 64, 0, stream>>>(offsets, columns, values, x, vector, rows);
}
