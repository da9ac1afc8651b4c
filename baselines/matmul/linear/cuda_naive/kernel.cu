// Affine map by definition: a thread for each result, a float32 sum over a row of x and a row of the weight. Threads
// of a warp read neighbouring rows of the weight, so that nothing they read lies together, but for the caches.
#include <cstdint>

namespace {

using T = KBENCH_T;
constexpr int COLS = 32, ROWS = 8;  // results of a block

__global__ void multiply(const T* x, const T* weight, const T* bias, T* y, int64_t batch, int64_t in_features,
                         int64_t out_features) {
    const int64_t across = (out_features + COLS - 1) / COLS;
    const int64_t row = blockIdx.x / across * ROWS + threadIdx.y, col = blockIdx.x % across * COLS + threadIdx.x;
    if (row >= batch || col >= out_features) return;
    float sum = 0.0f;
    x += row * in_features, weight += col * in_features;
    for (int64_t i = 0; i < in_features; ++i) sum += float(x[i]) * float(weight[i]);
    y[row * out_features + col] = T(sum + float(bias[col]));
}

}  // namespace

extern "C" void linear(const T* x, const T* weight, const T* bias, T* y, int64_t batch, int64_t in_features,
                       int64_t out_features, cudaStream_t stream) {
    const auto blocks = static_cast<unsigned>((batch + ROWS - 1) / ROWS * ((out_features + COLS - 1) / COLS));
    multiply<<<blocks, dim3(COLS, ROWS), 0, stream>>>(x, weight, bias, y, batch, in_features, out_features);
}
