// Cross entropy with ignored targets: loss per row, their mean over the rows that count, and the gradient.
#include <cstdint>

__device__ float warp_max(float v) {
    for (int o = 16; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(~0u, v, o));
    return v;
}

__device__ float warp_sum(float v) {
    for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    return v;
}

__global__ void row_losses(const float* logits, const int64_t* targets, float* losses, float* grad, int* counted,
                           int classes, int64_t ignored) {
    const int row = blockIdx.x, lane = threadIdx.x;
    const float* x = logits + row * classes;
    const int64_t target = targets[row];
    float top = -INFINITY;
    for (int c = lane; c < classes; c += 32) top = fmaxf(top, x[c]);
    top = warp_max(top);
    float sum = 0.0f;
    for (int c = lane; c < classes; c += 32) sum += expf(x[c] - top);
    sum = warp_sum(sum);
    const bool counts = target != ignored;
    for (int c = lane; c < classes; c += 32) {
        grad[row * classes + c] = counts ? expf(x[c] - top) / sum - (c == target ? 1.0f : 0.0f) : 0.0f;
    }
    if (lane == 0) {
        losses[row] = counts ? logf(sum) + top - x[target] : 0.0f;
        if (counts) atomicAdd(counted, 1);
    }
}

__global__ void mean_loss(const float* losses, const int* counted, float* mean, int rows) {
    float sum = 0.0f;
    for (int r = threadIdx.x; r < rows; r += 32) sum += losses[r];
    sum = warp_sum(sum);
    if (threadIdx.x == 0) *mean = sum / static_cast<float>(*counted);
}

extern "C" void run(const float* logits, const int64_t* targets, float* losses, float* grad, int* counted, float* mean,
                    int64_t rows, int64_t classes, cudaStream_t stream) {
    cudaMemsetAsync(counted, 0, sizeof(int), stream);
    row_losses<<<rows, 32, 0, stream>>>(logits, targets, losses, grad, counted, classes, -100);
    mean_loss<<<1, 32, 0, stream>>>(losses, counted, mean, rows);
}
