// Functions of two and three arguments, in C++'s overloaded spelling and in CUDA's.
#include <cmath>
#include <cstdint>

constexpr int RESULTS = 12;

__global__ void functions(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = a[i], y = b[i];
    float* z = out + i * RESULTS;
    z[0] = powf(x, y);
    z[1] = std::pow(x, 3.0f);
    z[2] = atan2f(y, x);
    z[3] = hypotf(x, y);
    z[4] = fmodf(x * 7.0f, y);
    z[5] = fdimf(x, y);
    z[6] = fmaf(x, y, 1.0f);
    z[7] = fmaxf(x, y) - fminf(x, y);
    z[8] = max(x, y) / min(x, 3.0f);
    z[9] = norm3df(x, y, 2.0f);
    z[10] = rhypotf(x, y);
    z[11] = fabsf(x - y) + abs(y - x);
}

extern "C" void run(const float* a, const float* b, float* out, int64_t n, cudaStream_t stream) {
    functions<<<(n + 63) / 64, 64, 0, stream>>>(a, b, out, n);
}
