// A 16-byte pack of any element type, moved in one transaction.
#include <cstdint>

template <typename T, int N>
struct alignas(sizeof(T) * N) Pack {
    T values[N];
};

template <typename T>
__global__ void relu_packed(const T* __restrict__ in, T* __restrict__ out, int64_t n) {
    constexpr int N = 16 / sizeof(T);
    using Vector = Pack<T, N>;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if ((i + 1) * N <= n) {
        Vector v = *reinterpret_cast<const Vector*>(in + i * N);
#pragma unroll
        for (int k = 0; k < N; ++k) v.values[k] = v.values[k] > T(0) ? v.values[k] : T(0);
        *reinterpret_cast<Vector*>(out + i * N) = v;
    } else {
        for (int64_t k = i * N; k < n; ++k) out[k] = in[k] > T(0) ? in[k] : T(0);
    }
}

template <typename T>
void launch(const T* in, T* out, int64_t n, cudaStream_t stream) {
    constexpr int N = 16 / sizeof(T);
    const int64_t packs = (n + N - 1) / N;
    relu_packed<T><<<(packs + 31) / 32, 32, 0, stream>>>(in, out, n);
}

extern "C" void run(const float* a, const double* b, const int16_t* c, float* ra, double* rb, int16_t* rc, int64_t n,
                    cudaStream_t stream) {
    launch(a, ra, n, stream);
    launch(b, rb, n, stream);
    launch(c, rc, n, stream);
}
