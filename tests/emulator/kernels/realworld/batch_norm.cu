// Training-mode batch normalisation of NCHW: a block per channel, running statistics updated in place.
#include <cstdint>

template <int THREADS>
__global__ void batch_norm(const float* x, const float* weight, const float* bias, float* y, float* running, int n,
                           int c, int hw, float momentum, float eps) {
    __shared__ float2 partial[THREADS];
    const int channel = blockIdx.x, t = threadIdx.x;
    float2 sum = {0.0f, 0.0f};
    for (int e = t; e < n * hw; e += THREADS) {
        const float v = x[(e / hw * c + channel) * hw + e % hw];
        sum.x += v;
        sum.y += v * v;
    }
    partial[t] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (t < half) {
            partial[t].x += partial[t + half].x;
            partial[t].y += partial[t + half].y;
        }
        __syncthreads();
    }
    const float count = n * hw;
    const float mean = partial[0].x / count;
    const float variance = fmaxf(partial[0].y / count - mean * mean, 0.0f);
    if (t == 0) {
        running[channel] = (1.0f - momentum) * 0.0f + momentum * mean;
        running[c + channel] = (1.0f - momentum) * 1.0f + momentum * variance * count / (count - 1.0f);
    }
    const float scale = weight[channel] * rsqrtf(variance + eps);
    const float shift = bias[channel] - mean * scale;
    for (int e = t; e < n * hw; e += THREADS) {
        const int at = (e / hw * c + channel) * hw + e % hw;
        y[at] = x[at] * scale + shift;
    }
}

extern "C" void run(const float* x, const float* weight, const float* bias, float* y, float* running, int64_t n,
                    int64_t c, int64_t hw, cudaStream_t stream) {
    batch_norm<64><<<c, 64, 0, stream>>>(x, weight, bias, y, running, n, c, hw, 0.1f, 1e-5f);
}
