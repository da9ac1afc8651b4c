// One element-wise kernel, many operations: functors with and without state, passed by value.
#include <cstdint>

struct Add {
    __host__ __device__ float operator()(float a, float b) const { return a + b; }
};

struct Affine {
    float slope, shift;
    __device__ float operator()(float a, float b) const { return fmaf(slope, a, shift) - b; }
};

template <int DEGREE>
struct Polynomial {
    float coefficients[DEGREE + 1];
    __device__ float operator()(float a, float) const {
        float value = coefficients[DEGREE];
        for (int d = DEGREE - 1; d >= 0; --d) value = value * a + coefficients[d];
        return value;
    }
};

template <typename Op>
__global__ void zip(const float* a, const float* b, float* out, int n, const Op op) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) out[i] = op(a[i], b[i]);
}

extern "C" void run(const float* a, const float* b, float* sum, float* affine, float* cubic, int64_t n,
                    cudaStream_t stream) {
    zip<<<2, 64, 0, stream>>>(a, b, sum, n, Add{});
    zip<Affine><<<2, 64, 0, stream>>>(a, b, affine, n, Affine{3.0f, -0.5f});
    const Polynomial<3> polynomial{{1.0f, -2.0f, 0.5f, 0.25f}};
    zip<<<2, 64, 0, stream>>>(a, b, cubic, n, polynomial);
}
