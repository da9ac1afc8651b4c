// LayerNorm with Welford's recurrence, merged across the warp and then across warps.
#include <cstdint>

struct Welford {
    float mean = 0.0f, m2 = 0.0f, count = 0.0f;

    __device__ void add(float x) {
        count += 1.0f;
        const float delta = x - mean;
        mean += delta / count;
        m2 += delta * (x - mean);
    }

    __device__ void merge(float other_mean, float other_m2, float other_count) {
        const float total = count + other_count;
        if (total == 0.0f) return;
        const float delta = other_mean - mean;
        mean += delta * other_count / total;
        m2 += other_m2 + delta * delta * count * other_count / total;
        count = total;
    }
};

__device__ void merge_warp(Welford& w) {
    for (int offset = 16; offset > 0; offset /= 2) {
        const float mean = __shfl_down_sync(0xffffffff, w.mean, offset);
        const float m2 = __shfl_down_sync(0xffffffff, w.m2, offset);
        const float count = __shfl_down_sync(0xffffffff, w.count, offset);
        w.merge(mean, m2, count);
    }
}

__global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y, int cols, float eps) {
    __shared__ float means[32], m2s[32], counts[32];
    __shared__ float s_mean, s_rstd;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, warps = blockDim.x >> 5;
    const float* row = x + blockIdx.x * cols;
    Welford w;
    for (int c = threadIdx.x; c < cols; c += blockDim.x) w.add(row[c]);
    merge_warp(w);
    if (lane == 0) {
        means[warp] = w.mean;
        m2s[warp] = w.m2;
        counts[warp] = w.count;
    }
    __syncthreads();
    if (warp == 0) {
        Welford total;
        if (lane < warps) total.merge(means[lane], m2s[lane], counts[lane]);
        merge_warp(total);
        if (lane == 0) {
            s_mean = total.mean;
            s_rstd = rsqrtf(total.m2 / cols + eps);
        }
    }
    __syncthreads();
    for (int c = threadIdx.x; c < cols; c += blockDim.x) {
        y[blockIdx.x * cols + c] = (row[c] - s_mean) * s_rstd * gamma[c] + beta[c];
    }
}

extern "C" void run(const float* x, const float* gamma, const float* beta, float* y, int64_t rows, int64_t cols,
                    cudaStream_t stream) {
    layernorm<<<rows, 128, 0, stream>>>(x, gamma, beta, y, cols, 1e-5f);
}
