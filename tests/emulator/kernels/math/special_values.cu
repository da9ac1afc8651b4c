// What the functions do with NaN, infinities, zeros of both signs and denormals.
#include <cstdint>

__global__ void inspect(const float* a, const float* b, float* out, int* flags, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = a[i], y = b[i];
    float* z = out + 15 * i;
    z[0] = fminf(x, y);
    z[1] = fmaxf(x, y);
    z[2] = copysignf(x, y);
    z[3] = fabsf(x);
    z[4] = rintf(x);
    z[5] = roundf(x);
    z[6] = truncf(x);
    z[7] = floorf(x);
    z[8] = ceilf(x);
    z[9] = nextafterf(x, y);
    z[10] = x * 0.5f;
    z[11] = ldexpf(x, 3);
    z[12] = __saturatef(x);
    z[13] = nearbyintf(x * 0.5f);
    z[14] = x - truncf(x);
    int bits = 0;
    bits |= (isnan(x) ? 1 : 0) << 0;
    bits |= (isinf(x) ? 1 : 0) << 1;
    bits |= (isfinite(x) ? 1 : 0) << 2;
    bits |= (signbit(x) ? 1 : 0) << 3;
    bits |= (x < y ? 1 : 0) << 4;
    bits |= (x != y ? 1 : 0) << 5;
    bits |= (x == y ? 1 : 0) << 6;
    flags[2 * i] = bits;
    int exponent = 0;
    const float mantissa = frexpf(isfinite(x) ? x : 1.0f, &exponent);
    flags[2 * i + 1] = exponent * 1000 + static_cast<int>(mantissa * 512.0f);
}

extern "C" void run(const float* a, const float* b, float* out, int* flags, int64_t n, cudaStream_t stream) {
    inspect<<<(n + 31) / 32, 32, 0, stream>>>(a, b, out, flags, n);
}
