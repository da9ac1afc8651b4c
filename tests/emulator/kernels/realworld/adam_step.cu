// One Adam step for several tensors of different length in one launch, pointers in a struct.
#include <cmath>
#include <cstdint>

constexpr int MAX_TENSORS = 3;

struct TensorList {
    const float* gradients[MAX_TENSORS];
    const float* parameters[MAX_TENSORS];
    float* updated[MAX_TENSORS];
    int sizes[MAX_TENSORS];
};

__global__ void adam(TensorList list, float lr, float beta1, float beta2, float eps, float correction1,
                     float correction2) {
    const int tensor = blockIdx.y;
    const int n = list.sizes[tensor];
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float g = list.gradients[tensor][i];
        const float m = (1.0f - beta1) * g;
        const float v = (1.0f - beta2) * g * g;
        const float denominator = sqrtf(v / correction2) + eps;
        list.updated[tensor][i] = list.parameters[tensor][i] - lr * (m / correction1) / denominator;
    }
}

extern "C" void run(const float* g0, const float* g1, const float* g2, const float* p0, const float* p1,
                    const float* p2, float* u0, float* u1, float* u2, int64_t n0, int64_t n1, int64_t n2,
                    cudaStream_t stream) {
    TensorList list = {{g0, g1, g2}, {p0, p1, p2}, {u0, u1, u2}, {(int)n0, (int)n1, (int)n2}};
    adam<<<dim3(2, MAX_TENSORS), 64, 0, stream>>>(list, 0.01f, 0.9f, 0.999f, 1e-8f, 1.0f - 0.9f, 1.0f - 0.999f);
}
