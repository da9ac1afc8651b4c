// Gather of embedding rows with a padding index, and the scatter-add of gradients.
#include <cstdint>

__global__ void gather(const int64_t* tokens, const float* table, float* out, int dim, int64_t padding) {
    const int64_t token = tokens[blockIdx.x];
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        out[blockIdx.x * dim + d] = token == padding ? 0.0f : table[token * dim + d];
    }
}

__global__ void scatter(const int64_t* tokens, const float* grad, float* grad_table, int dim, int64_t padding) {
    const int64_t token = tokens[blockIdx.x];
    if (token == padding) return;
    for (int d = threadIdx.x; d < dim; d += blockDim.x) {
        atomicAdd(grad_table + token * dim + d, grad[blockIdx.x * dim + d]);
    }
}

extern "C" void run(const int64_t* tokens, const float* table, const float* grad, float* out, float* grad_table,
                    int64_t count, int64_t vocabulary, int64_t dim, cudaStream_t stream) {
    gather<<<count, 32, 0, stream>>>(tokens, table, out, dim, 3);
    cudaMemsetAsync(grad_table, 0, vocabulary * dim * sizeof(float), stream);
    scatter<<<count, 32, 0, stream>>>(tokens, grad, grad_table, dim, 3);
}
