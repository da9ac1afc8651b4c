// Max pooling with indices, and its backward pass with atomics on overlapping windows.
#include <cfloat>
#include <cstdint>

__global__ void max_pool_forward(const float* x, float* y, int64_t* indices, int planes, int h, int w, int oh, int ow,
                                 int kernel, int stride) {
    const int q = blockIdx.x * blockDim.x + threadIdx.x;
    const int p = blockIdx.y * blockDim.y + threadIdx.y;
    const int plane = blockIdx.z;
    if (q >= ow || p >= oh) return;
    float best = -FLT_MAX;
    int where = 0;
    for (int r = 0; r < kernel; ++r) {
        for (int c = 0; c < kernel; ++c) {
            const int at = (p * stride + r) * w + q * stride + c;
            const float value = x[plane * h * w + at];
            if (value > best) {
                best = value;
                where = at;
            }
        }
    }
    y[(plane * oh + p) * ow + q] = best;
    indices[(plane * oh + p) * ow + q] = where;
}

__global__ void max_pool_backward(const float* grad, const int64_t* indices, float* grad_x, int per_plane, int total,
                                  int plane_size) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < total) atomicAdd(&grad_x[i / per_plane * plane_size + indices[i]], grad[i]);
}

extern "C" void run(const float* x, const float* grad, float* y, int64_t* indices, float* grad_x, int64_t planes,
                    int64_t h, int64_t w, int64_t kernel, int64_t stride, cudaStream_t stream) {
    const int oh = (h - kernel) / stride + 1, ow = (w - kernel) / stride + 1;
    dim3 block(8, 8), grid((ow + 7) / 8, (oh + 7) / 8, planes);
    max_pool_forward<<<grid, block, 0, stream>>>(x, y, indices, planes, h, w, oh, ow, kernel, stride);
    cudaMemsetAsync(grad_x, 0, planes * h * w * sizeof(float), stream);
    const int total = planes * oh * ow;
    max_pool_backward<<<(total + 127) / 128, 128, 0, stream>>>(grad, indices, grad_x, oh * ow, total, h * w);
}
